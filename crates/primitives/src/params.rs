//! Parameters as scenarios have them: a structure whose fields have their defaults beside them.

/// Declares a structure of parameters with the default of each field.
///
/// Keys of a scenario that are missing have their defaults, and keys that are no field are rejected.
///
/// ```
/// etherweave_primitives::params! {
///     /// Traffic of a pair.
///     pub struct Pair {
///         /// Messages, at least 1.
///         pub messages: u32 = 4,
///     }
/// }
/// assert_eq!(Pair::default().messages, 4);
/// ```
#[macro_export]
macro_rules! params {
    (
        $(#[$doc:meta])*
        $scope:vis struct $name:ident {
            $($(#[$field_doc:meta])* $field_scope:vis $field:ident: $kind:ty = $default:expr,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        $scope struct $name {
            $($(#[$field_doc])* $field_scope $field: $kind,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }
    };
}
