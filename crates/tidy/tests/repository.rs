//! Applies every rule to every file that Git knows.

use etherweave_tidy::{
    File, Finding, Repository, circles, manifest, markdown, members, names, owners, paths, python, rooms, rust,
    rust_imports, text, words,
};

fn check(rule: impl Fn(&File, &Repository) -> Vec<Finding>) {
    let repository = Repository::open();
    let findings: Vec<String> =
        repository.files().flat_map(|file| rule(&file, &repository)).map(|finding| finding.to_string()).collect();
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

#[test]
fn files_fit_a_reader() {
    check(|file, _| text::length(file));
    for file in Repository::open().files().filter(text::is_written) {
        let lines = file.text.lines().count();
        if lines > text::LINES_USUAL {
            println!("{}: {lines} lines; is there a second concept?", file.path);
        }
    }
}

#[test]
fn white_space_is_plain() {
    check(|file, _| text::white_space(file));
}

#[test]
fn rust_lines_fit_120_columns() {
    check(|file, _| text::width(file));
}

#[test]
fn nothing_is_left_unfinished() {
    check(|file, _| text::unfinished(file));
}

#[test]
fn no_machine_is_named() {
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    check(|file, _| text::private_places(file, machine.trim()));
}

#[test]
fn crates_stand_on_the_crates_below_them() {
    check(|file, _| manifest::directions(file));
}

#[test]
fn every_dependency_says_why_it_is_here() {
    check(|file, _| manifest::reasons(file));
}

#[test]
fn below_scenario_nothing_touches_the_world() {
    check(|file, _| rust::world(file));
}

#[test]
fn below_scenario_no_platform_mathematics_decides() {
    check(|file, _| rust::platform_mathematics(file));
}

#[test]
fn no_hash_table_is_walked() {
    check(|file, _| rust::hash_walks(file));
}

#[test]
fn unsafe_code_says_why_it_is_sound() {
    check(|file, _| rust::soundness(file));
}

#[test]
fn tests_that_do_not_run_say_why() {
    check(|file, _| rust::ignored_tests(file));
    check(|file, _| python::skipped_tests(file));
}

#[test]
fn python_rooms_import_the_rooms_below_them() {
    check(|file, _| python::directions(file));
}

#[test]
fn the_table_of_rooms_is_what_is_allowed() {
    check(|file, _| manifest::unused_permissions(file));
    check(|file, _| if file.path == "ARCHITECTURE.md" { rooms::table(file) } else { Vec::new() });
}

#[test]
fn members_of_a_family_are_named_in_its_list() {
    check(|file, _| members::named_elsewhere(file));
}

#[test]
fn transports_are_asked_what_they_can_and_not_for_their_names() {
    check(|file, _| members::asked_by_name(file));
}

#[test]
fn paths_that_texts_name_exist() {
    check(paths::named_paths);
}

#[test]
fn words_are_those_of_the_field() {
    check(|file, _| words::rejected(file));
}

#[test]
fn limits_end_in_max_and_min() {
    check(|file, _| names::limits(file));
}

/// Keys `found` of printed findings stay: what reads them knows that name.
const FOUND_LEFT: usize = 3;

#[test]
fn values_are_called_by_nouns() {
    let repository = Repository::open();
    let findings: Vec<String> =
        repository.files().flat_map(|file| names::pronouns(&file)).map(|finding| finding.to_string()).collect();
    assert!(findings.len() <= FOUND_LEFT, "\n{}\n", findings.join("\n"));
}

#[test]
fn documentation_begins_with_a_noun_or_a_verb() {
    check(|file, _| names::fragments(file));
}

#[test]
fn paragraphs_end_after_five_lines() {
    check(|file, _| markdown::paragraphs(file));
}

#[test]
fn helps_stand_alone() {
    check(|file, _| words::helps(file));
}

#[test]
fn no_type_has_more_methods_than_can_be_kept_in_mind() {
    let findings: Vec<String> = owners::large(&Repository::open()).iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let repository = Repository::open();
    let rooms = [rust_imports::crates(&repository), python::rooms(&repository)].concat();
    let findings: Vec<String> = rooms.iter().flat_map(circles::circles).map(|finding| finding.to_string()).collect();
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

#[test]
fn pages_of_models_have_one_form() {
    check(|file, _| markdown::model_form(file));
}

#[test]
fn guides_show_runs() {
    check(|file, _| markdown::guide_form(file));
}

#[test]
fn links_lead_somewhere() {
    check(markdown::links);
}

#[test]
fn make_has_few_targets_and_documents_name_no_other() {
    let repository = Repository::open();
    let makefile = repository.file("Makefile");
    let targets: Vec<&str> = makefile
        .text
        .lines()
        .filter_map(|line| line.split_once(": ")?.1.contains("## ").then(|| line.split(':').next())?)
        .collect();
    assert!(targets.len() <= 14, "{targets:?}");
    for document in ["README.md", "CONTRIBUTING.md"] {
        let text = repository.file(document).text;
        for named in text.split("`make ").skip(1).filter_map(|rest| rest.split('`').next()) {
            assert!(targets.contains(&named), "{document} names `make {named}`; there is {targets:?}");
        }
    }
}

#[test]
fn the_map_shows_every_crate() {
    let repository = Repository::open();
    let map = repository.file("ARCHITECTURE.md").text;
    let rooms = repository.paths().iter().filter_map(|path| path.strip_prefix("crates/")?.split('/').next());
    for room in rooms {
        assert!(map.contains(&format!("crates/{room}")), "ARCHITECTURE.md does not show crates/{room}");
    }
}
