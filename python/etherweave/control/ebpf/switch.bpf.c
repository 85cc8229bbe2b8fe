// An Ethernet switch for hierarchical addresses, with conditional rules (Benito et al. 2015, section V-B).
//
// Runs at the ingress of each of the switch's ports (tc, direct action):
//
//   frame ─► MAC control? ─► DMP? ─► whose source? ─► known destination? ─► masked rules ─► port, ports, or nowhere
//              │ timers        │ answer
//              ▼ consumed      ▼ back
//
// A rule is inactive while its port is paused, which the lookup itself tests: the frame behind a PAUSE already goes
// elsewhere. When every rule that matches is inactive, the first of them decides, and the frame waits at its
// default port.
//
// Rules are found mask by mask, in the order that `maps.py` gives; the limits of the maps stand there as well. Whole
// numbers in maps have the machine's order of octets.

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define ETHER_MAC_CONTROL 0x8808
#define ETHER_DMP 0x88b5
#define OPCODE_PAUSE 0x0001
#define OPCODE_PFC 0x0101
#define CONTROL_GROUP 0x0180c2000001ULL
// 01-80-C2-00-00-0X stay on their link (IEEE 802.1Q-2018, table 8-1).
#define RESERVED_GROUP 0x0180c2000000ULL

#define CLASSES 8
#define ANY_CLASS CLASSES
#define VLAN_PRESENT 0x1000
#define KEEP 0xff
#define NOT_FOUND 0xffffffff

char LICENSE[] SEC("license") = "Apache-2.0";

// What a frame is, or what of it a mask lets count.
struct match {
    __u64 to;   // destination, 48 bits, EtherType, 16
    __u64 from; // source, 48 bits, port that it came in by, 16
    __u32 vlan; // priority, 3 bits, whether there is a tag, 1, identifier, 12
    __u32 mask; // number of the mask
};

enum act { DROP, OUTPUT, SELECT, FLOOD };

struct rule {
    __u64 packets;
    __u64 octets;
    __u32 number;
    __u16 act;
    __u16 port;          // of OUTPUT; of SELECT and FLOOD, the number of their group
    __u16 unless_paused; // port that puts the rule inactive; 0: none
    __u16 priority;      // written into the tag of lossless frames, 0 to 7; KEEP: as it is
    __u32 unused;
};

struct group {
    __u32 count;
    __u16 ports[PORTS_MAX];
};

struct port {
    __u32 interface;          // index; 0: nothing is plugged in
    __u8 checks_source;       // whether only `address` may send
    __u8 checks_destination;  // whether frames must be for an address that somebody has
    __u8 answers;             // whether requests of DMP are answered with `address`
    __u8 unused;
    __u8 priorities[CLASSES]; // in which tagged frames go on, by the one that they come in
    __u64 address;            // of the host
    __u64 quantum_ps;         // 512 bit times
    __u64 answer_ns;          // from one answer to the next; 0: no limit
    __u64 burst_ns;           // how far answers may run ahead of that
};

struct clock {
    __u64 until_ns[CLASSES + 1]; // pauses of priorities; last, of all of them
    __u64 answer_ns;             // when an answer is due by the rate (GCRA's theoretical arrival time)
};

struct counter {
    __u64 received_packets;
    __u64 received_octets;
    __u64 sent_packets;
    __u64 sent_octets;
    __u64 pauses;
    __u64 class_pauses;
    __u64 answers;
    __u64 dropped_control;    // MAC control that is neither PAUSE nor PFC, or not as the standard writes it
    __u64 dropped_reserved;   // other frames that stay on their link
    __u64 dropped_request;    // DMP where no host is
    __u64 dropped_rate;       // DMP, too often
    __u64 dropped_spoofed;    // not the source that the port's host has
    __u64 dropped_unknown;    // to an address that nobody has
    __u64 dropped_unmatched;  // no rule matches
    __u64 dropped_refused;    // a rule says so
    __u64 dropped_back;       // would go back to where it came from
    __u64 dropped_unplugged;  // nothing is plugged into the port
    __u64 dropped_failed;     // the kernel could not copy or tag it
};

struct settings {
    __u32 known;    // masks of destinations that somebody has come first
    __u32 masks;    // all of them
    __u64 seed;     // of the choice among a group's ports, different on each switch
    __u32 by_class; // whether a paused priority leaves other priorities alone
    __u32 lossless; // priorities that rules change, a bit each
};

#define MAP(name, form, key_type, value_type, size, how)                                                               \
    struct {                                                                                                           \
        __uint(type, form);                                                                                            \
        __type(key, key_type);                                                                                         \
        __type(value, value_type);                                                                                     \
        __uint(max_entries, size);                                                                                     \
        __uint(map_flags, how);                                                                                        \
    } name SEC(".maps")

MAP(settings, BPF_MAP_TYPE_ARRAY, __u32, struct settings, 1, 0);
MAP(interfaces, BPF_MAP_TYPE_HASH, __u32, __u32, PORTS_MAX, 0);
MAP(ports, BPF_MAP_TYPE_ARRAY, __u32, struct port, PORTS_MAX + 1, 0);
MAP(clocks, BPF_MAP_TYPE_ARRAY, __u32, struct clock, PORTS_MAX + 1, 0);
MAP(counters, BPF_MAP_TYPE_ARRAY, __u32, struct counter, PORTS_MAX + 1, 0);
MAP(groups, BPF_MAP_TYPE_ARRAY, __u32, struct group, GROUPS_MAX, 0);
MAP(masks, BPF_MAP_TYPE_ARRAY, __u32, struct match, MASKS_MAX, 0);
MAP(rules, BPF_MAP_TYPE_HASH, struct match, struct rule, RULES_MAX, BPF_F_NO_PREALLOC);

#define COUNT(field, by) __sync_fetch_and_add(&(field), (by))
#define DISCARD(of, reason) (COUNT((of)->dropped_##reason, 1), TC_ACT_SHOT)

static __always_inline __u64 address(const __u8 *octets)
{
    __u64 value = 0;
    for (int i = 0; i < ETH_ALEN; i++)
        value = value << 8 | octets[i];
    return value;
}

static __always_inline __u16 word(const __u8 *octets)
{
    return octets[0] << 8 | octets[1];
}

// Classifies a frame; the tag may still be in the frame, or with the kernel. False: too short.
static __always_inline int seen(struct __sk_buff *skb, __u32 port, struct match *frame)
{
    __u8 head[18];
    __u16 type;
    if (bpf_skb_load_bytes(skb, 0, head, ETH_HLEN))
        return 0;
    type = word(head + 12);
    frame->vlan = skb->vlan_present ? (skb->vlan_tci & ~VLAN_PRESENT) | VLAN_PRESENT : 0;
    if (!frame->vlan && (type == ETH_P_8021Q || type == ETH_P_8021AD)) {
        if (bpf_skb_load_bytes(skb, ETH_HLEN, head + ETH_HLEN, 4))
            return 0;
        frame->vlan = (word(head + 14) & ~VLAN_PRESENT) | VLAN_PRESENT;
        type = word(head + 16);
    }
    frame->to = address(head) << 16 | type;
    frame->from = address(head + ETH_ALEN) << 16 | port;
    frame->mask = 0;
    return 1;
}

// Sets a port's timers by a frame of MAC control. False: it says nothing that we know.
static __always_inline int hear(struct __sk_buff *skb, const struct port *port, struct clock *clock,
                                struct counter *counter)
{
    __u8 body[20]; // opcode; then a time, or a vector and eight of them
    __u64 now = bpf_ktime_get_ns();
    __u16 opcode;
    if (bpf_skb_load_bytes(skb, ETH_HLEN, body, 4))
        return 0;
    opcode = word(body);
    if (opcode == OPCODE_PAUSE) {
        clock->until_ns[CLASSES] = now + word(body + 2) * port->quantum_ps / 1000;
        COUNT(counter->pauses, 1);
        return 1;
    }
    if (opcode != OPCODE_PFC || bpf_skb_load_bytes(skb, ETH_HLEN, body, sizeof(body)))
        return 0;
    for (int class = 0; class < CLASSES; class++)
        if (body[3] >> class & 1)
            clock->until_ns[class] = now + word(body + 4 + 2 * class) * port->quantum_ps / 1000;
    COUNT(counter->class_pauses, 1);
    return 1;
}

static __always_inline int is_paused(__u32 port, __u32 class, __u64 now)
{
    struct clock *clock = bpf_map_lookup_elem(&clocks, &port);
    if (!clock || now < clock->until_ns[CLASSES])
        return clock != 0;
    if (class < CLASSES)
        return now < clock->until_ns[class];
    for (class = 0; class < CLASSES; class++)
        if (now < clock->until_ns[class])
            return 1;
    return 0;
}

// A lookup under way.
struct search {
    struct match frame;
    __u64 now;
    __u32 first;
    __u32 class;
    __u32 is_changed; // whether rules change the frame's priority
    __u32 found; // number of the mask under which the rule stands; NOT_FOUND
    __u32 waits; // the same, of the first rule that is inactive
};

static __always_inline struct rule *ruled(const struct match *frame, __u32 number)
{
    struct match *mask = bpf_map_lookup_elem(&masks, &number);
    if (!mask)
        return 0;
    struct match key = {
        .to = frame->to & mask->to,
        .from = frame->from & mask->from,
        .vlan = frame->vlan & mask->vlan,
        .mask = number,
    };
    return bpf_map_lookup_elem(&rules, &key);
}

// Tries a mask; 1: that is it.
static long try(__u32 i, struct search *search)
{
    __u32 number = search->first + i;
    struct rule *rule = ruled(&search->frame, number);
    if (!rule)
        return 0;
    // A pause counts in the priority in which the frame would leave.
    __u32 class = search->class;
    if (class != ANY_CLASS && search->is_changed && rule->priority != KEEP)
        class = rule->priority;
    if (!rule->unless_paused || !is_paused(rule->unless_paused, class, search->now)) {
        search->found = number;
        return 1;
    }
    if (search->waits == NOT_FOUND)
        search->waits = number;
    return 0;
}

static __always_inline int is_lossless(const struct match *frame, const struct settings *its)
{
    return frame->vlan && its->lossless >> (frame->vlan >> 13 & (CLASSES - 1)) & 1;
}

// Takes the first active rule that matches; if there is none, the first that matches.
static __always_inline struct rule *find(const struct match *frame, __u32 first, __u32 end, __u32 class,
                                         const struct settings *its)
{
    struct search search = {
        .frame = *frame,
        .now = bpf_ktime_get_ns(),
        .first = first,
        .class = class,
        .is_changed = is_lossless(frame, its),
        .found = NOT_FOUND,
        .waits = NOT_FOUND,
    };
    bpf_loop(end - first, try, &search, 0);
    return ruled(frame, search.found != NOT_FOUND ? search.found : search.waits);
}

static __always_inline int send(struct __sk_buff *skb, __u32 number, struct counter *from)
{
    struct port *port = bpf_map_lookup_elem(&ports, &number);
    struct counter *counter = bpf_map_lookup_elem(&counters, &number);
    if (!port || !counter || !port->interface)
        return DISCARD(from, unplugged);
    COUNT(counter->sent_packets, 1);
    COUNT(counter->sent_octets, skb->len);
    return bpf_redirect(port->interface, 0);
}

// Answers with the address that belongs to the port, at most so often (GCRA; ITU-T I.371).
static __always_inline int answer(struct __sk_buff *skb, __u32 number, const struct port *port, struct clock *clock,
                                  struct counter *counter)
{
    __u8 octets[ETH_ALEN];
    __u64 now = bpf_ktime_get_ns();
    __u64 due = clock->answer_ns > now ? clock->answer_ns : now;
    if (!port->answers)
        return DISCARD(counter, request);
    if (due - now > port->burst_ns)
        return DISCARD(counter, rate);
    clock->answer_ns = due + port->answer_ns;
    for (int i = 0; i < ETH_ALEN; i++)
        octets[i] = port->address >> (40 - 8 * i);
    if (bpf_skb_store_bytes(skb, ETH_ALEN, octets, ETH_ALEN, 0))
        return DISCARD(counter, failed);
    COUNT(counter->answers, 1);
    return send(skb, number, counter);
}

static __always_inline int flood(struct __sk_buff *skb, const struct group *group, __u32 in_port, struct counter *from)
{
    for (__u32 i = 0; i < PORTS_MAX && i < group->count; i++) {
        __u32 number = group->ports[i];
        struct port *port = bpf_map_lookup_elem(&ports, &number);
        struct counter *counter = bpf_map_lookup_elem(&counters, &number);
        if (number == in_port || !port || !counter || !port->interface)
            continue;
        if (bpf_clone_redirect(skb, port->interface, 0)) {
            COUNT(from->dropped_failed, 1);
            continue;
        }
        COUNT(counter->sent_packets, 1);
        COUNT(counter->sent_octets, skb->len);
    }
    return TC_ACT_STOLEN;
}

// Takes a port of a group, by the flow that a packet belongs to: addresses, and what the kernel sees of layers above.
static __always_inline __u32 selected(struct __sk_buff *skb, const struct match *frame, const struct group *group,
                                      __u64 seed)
{
    // Without a seed all switches would choose alike. Mixed as in splitmix64.
    __u64 hash = bpf_get_hash_recalc(skb) ^ frame->to >> 16 ^ frame->from ^ seed;
    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9ULL;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebULL;
    __u32 at = group->count ? (__u32)(hash >> 32) % group->count : 0;
    return at < PORTS_MAX ? group->ports[at] : 0;
}

// Writes the priority into a frame's tag, if it has one. False: the kernel could not.
static __always_inline int retag(struct __sk_buff *skb, struct match *frame, __u32 priority)
{
    if (priority == KEEP || !frame->vlan || frame->vlan >> 13 == priority)
        return 1;
    frame->vlan = priority << 13 | (frame->vlan & 0x1fff);
    return !bpf_skb_vlan_pop(skb) && !bpf_skb_vlan_push(skb, bpf_htons(ETH_P_8021Q), frame->vlan & ~VLAN_PRESENT);
}

static __always_inline int apply(struct __sk_buff *skb, struct match *frame, struct rule *rule,
                                 const struct settings *its, struct counter *counter)
{
    __u32 in_port = frame->from & 0xffff, number = rule->port;
    COUNT(rule->packets, 1);
    COUNT(rule->octets, skb->len);
    if (rule->act == DROP)
        return DISCARD(counter, refused);
    if (is_lossless(frame, its) && !retag(skb, frame, rule->priority))
        return DISCARD(counter, failed);
    // The queueing discipline of the output port serves by it.
    skb->priority = frame->vlan >> 13;
    if (rule->act == SELECT || rule->act == FLOOD) {
        struct group *group = bpf_map_lookup_elem(&groups, &number);
        if (!group)
            return DISCARD(counter, failed);
        if (rule->act == FLOOD)
            return flood(skb, group, in_port, counter);
        number = selected(skb, frame, group, its->seed);
    }
    return number == in_port ? DISCARD(counter, back) : send(skb, number, counter);
}

SEC("tc")
int etherweave_switch(struct __sk_buff *skb)
{
    __u32 interface = skb->ifindex, zero = 0;
    struct settings *its = bpf_map_lookup_elem(&settings, &zero);
    __u32 *number = bpf_map_lookup_elem(&interfaces, &interface);
    if (!its || !number)
        return TC_ACT_SHOT;
    struct port *port = bpf_map_lookup_elem(&ports, number);
    struct clock *clock = bpf_map_lookup_elem(&clocks, number);
    struct counter *counter = bpf_map_lookup_elem(&counters, number);
    struct match frame;
    if (!port || !clock || !counter || !seen(skb, *number, &frame))
        return TC_ACT_SHOT;
    COUNT(counter->received_packets, 1);
    COUNT(counter->received_octets, skb->len);

    __u16 type = frame.to & 0xffff;
    __u64 to = frame.to >> 16;
    if (type == ETHER_MAC_CONTROL) {
        int is_own = to == CONTROL_GROUP && !frame.vlan && hear(skb, port, clock, counter);
        return is_own ? TC_ACT_STOLEN : DISCARD(counter, control);
    }
    if ((to & ~0xfULL) == RESERVED_GROUP)
        return DISCARD(counter, reserved);
    if (type == ETHER_DMP)
        return answer(skb, *number, port, clock, counter);
    if (port->checks_source && frame.from >> 16 != port->address)
        return DISCARD(counter, spoofed);
    if (port->checks_destination && !find(&frame, 0, its->known, ANY_CLASS, its))
        return DISCARD(counter, unknown);
    if (!retag(skb, &frame, port->priorities[frame.vlan >> 13 & (CLASSES - 1)]))
        return DISCARD(counter, failed);
    __u32 class = its->by_class ? frame.vlan >> 13 : ANY_CLASS;
    struct rule *rule = find(&frame, its->known, its->masks, class, its);
    return rule ? apply(skb, &frame, rule, its, counter) : DISCARD(counter, unmatched);
}
