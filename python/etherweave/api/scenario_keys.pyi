"""Types of the keys of a scenario; written by docs/site/key_types.py."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, Literal, TypeAlias, TypeVar, overload

from etherweave.api.scenario_builder import Table

Read = TypeVar("Read")
Written = TypeVar("Written")
Item = TypeVar("Item")
Keys: TypeAlias = Mapping[str, Any]

class Key(Generic[Read, Written]):
    @overload
    def __get__(self, instance: None, owner: object) -> Key[Read, Written]: ...
    @overload
    def __get__(self, instance: object, owner: object) -> Read: ...
    def __set__(self, instance: object, value: Written) -> None: ...

class List(Generic[Item]):
    def add(self, **keys: object) -> Item: ...
    def __getitem__(self, number: int) -> Item: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Item]: ...

AccessName: TypeAlias = Literal[
    "put", "get", "accumulate", "fetch_and_op", "get_accumulate", "compare_and_swap"
]
AddressKindName: TypeAlias = Literal["dmp", "rewrite"]
AlgorithmName: TypeAlias = Literal[
    "linear",
    "linear_sync",
    "chain",
    "pipeline",
    "binary_tree",
    "split_binary_tree",
    "in_order_binary_tree",
    "double_tree",
    "nvls_tree",
    "binomial",
    "knomial",
    "recursive_doubling",
    "recursive_halving",
    "butterfly",
    "rabenseifner",
    "scatter_allgather",
    "scatter_ring",
    "bruck",
    "ring",
    "double_ring",
    "pairwise",
    "pat",
    "neighbour_exchange",
    "hierarchical",
    "in_network",
    "collnet_direct",
    "collnet_chain",
    "composed",
]
AlphaUpdateName: TypeAlias = Literal["period", "notification"]
ArbiterName: TypeAlias = Literal["age", "round_robin", "least_recently_served"]
ArrangementName: TypeAlias = Literal["palm_tree", "consecutive"]
BindingName: TypeAlias = Literal["core", "socket"]
BoundaryName: TypeAlias = Literal["periodic", "open"]
BurstLengthName: TypeAlias = Literal["geometric"]
ChannelSchedulerName: TypeAlias = Literal["strict", "round_robin"]
CheckpointAccessName: TypeAlias = Literal["save", "restore"]
CollectiveName: TypeAlias = Literal["barrier"]
CompactionKindName: TypeAlias = Literal[
    "plain", "wildcards", "prefixes", "prefixes_nested", "ternary"
]
CompletionOrderName: TypeAlias = Literal["posted", "any"]
CongestionControlName: TypeAlias = Literal["cubic", "new_reno", "dctcp", "bbr"]
DeliveryName: TypeAlias = Literal["rud", "rod", "rudi", "uud"]
FftScopeName: TypeAlias = Literal["star", "single"]
FidelityName: TypeAlias = Literal["packet", "flow"]
FirstArrivalName: TypeAlias = Literal["random", "aligned"]
FlowSizesName: TypeAlias = Literal[
    "web_search", "facebook_hadoop", "hadoop", "storage", "data_mining"
]
ForwardErrorCorrectionName: TypeAlias = Literal[
    "none", "fc2112", "rs528", "rs544", "rs544_interleaved", "rs544_four_interleaved"
]
ForwardingName: TypeAlias = Literal["store_and_forward", "cut_through"]
GateName: TypeAlias = Literal["uniform"]
GpcnetCongestionName: TypeAlias = Literal["alltoall", "incast", "put_incast", "get_broadcast"]
GpcnetTestName: TypeAlias = Literal[
    "latency",
    "get_latency",
    "bandwidth",
    "put_bandwidth",
    "natural_bandwidth",
    "bandwidth_sync",
    "allreduce",
    "alltoall",
]
GridOrderName: TypeAlias = Literal["row_major", "column_major"]
IdealTimeName: TypeAlias = Literal["fabric", "hpcc", "abm"]
ImbTestName: TypeAlias = Literal["ping_ping", "sendrecv", "exchange"]
KvTransferName: TypeAlias = Literal["push", "pull"]
LibraryName: TypeAlias = Literal[
    "open_mpi_4_0", "open_mpi_4_1", "open_mpi_5_0", "mpich_4", "ucc", "nccl"
]
LoadBalancingName: TypeAlias = Literal["oblivious", "bitmap", "reps", "mixed"]
LoadOfName: TypeAlias = Literal["host_links", "uplinks"]
LossDetectionName: TypeAlias = Literal["time", "timeout"]
MarkAtName: TypeAlias = Literal["dequeue", "enqueue"]
MissingDependenciesName: TypeAlias = Literal["refuse", "rebuild", "ignore"]
ModerationTimerName: TypeAlias = Literal["completion", "event"]
MoeModeName: TypeAlias = Literal["normal", "low_latency"]
NpbBenchmarkName: TypeAlias = Literal[
    "bt", "bt_mz", "dt_bh", "dt_sh", "dt_wh", "ep", "ft", "is", "lu", "lu_mz", "mg", "sp", "sp_mz"
]
NsccVariantName: TypeAlias = Literal["specification", "htsim"]
OutermostName: TypeAlias = Literal["pipeline", "data"]
PanelBroadcastName: TypeAlias = Literal[
    "ring", "ring_modified", "two_rings", "two_rings_modified", "long", "long_modified"
]
PartnerName: TypeAlias = Literal["random"]
PauseFrameKindName: TypeAlias = Literal["pfc", "global_pause"]
PauseKindName: TypeAlias = Literal["port", "class"]
PeerResponseName: TypeAlias = Literal["none", "ieee_802_3"]
PlanKindName: TypeAlias = Literal["flat", "per_switch", "per_group", "coordinates"]
PortChoiceName: TypeAlias = Literal[
    "by_rank", "by_hash", "round_robin", "per_packet", "first_working"
]
ProtocolKindName: TypeAlias = Literal["openflow13", "openflow10"]
ProtocolName: TypeAlias = Literal["ll", "ll128", "simple"]
RankOrderName: TypeAlias = Literal["block", "round_robin"]
ReliabilityName: TypeAlias = Literal["go_back_n", "selective_repeat"]
ResolutionKindName: TypeAlias = Literal["broadcast", "responder", "manager"]
RoceVersionName: TypeAlias = Literal["v1", "v2"]
RoutingKindName: TypeAlias = Literal[
    "up_down",
    "up_star_down_star",
    "minimal",
    "valiant_group",
    "valiant_switch",
    "ugal_local",
    "ugal_global",
    "progressive_adaptive",
    "piggyback",
    "conditional",
    "controller",
    "dimension_order",
    "adaptive_minimal",
    "valiant",
    "dimension_adaptive",
    "ecmp",
    "spray",
    "flowlet",
    "adaptive_up",
    "elastic_tree",
    "global_load_balancing",
    "shortest_path",
    "disjoint_trees",
    "minimal_tables",
    "conditional_tables",
]
RowSwapName: TypeAlias = Literal["binary_exchange", "spread_roll", "mix"]
RuleKindName: TypeAlias = Literal["minimal", "conditional"]
SampleMethodName: TypeAlias = Literal["latin_hypercube", "sobol"]
SavingName: TypeAlias = Literal["always_on", "low_power_idle", "link_sleep", "rate_adaptation"]
ScaleName: TypeAlias = Literal["linear", "log"]
SegmentLossName: TypeAlias = Literal["duplicates", "time"]
ServiceTimesName: TypeAlias = Literal["constant", "exponential"]
SharingName: TypeAlias = Literal["hash", "source", "destination"]
SpoofingKindName: TypeAlias = Literal["none", "mac", "arp"]
SwitchModelName: TypeAlias = Literal["shared_buffer", "input_queued"]
TokenFormatName: TypeAlias = Literal["fp8", "bf16"]
TriggerName: TypeAlias = Literal["full", "pause"]
UetFramesName: TypeAlias = Literal["udp"]
WatchdogActionName: TypeAlias = Literal["drop", "forward", "alert"]

class Accelerator(Table):
    launch: Key[str, str]
    memory: Key[str | None, str]
    memory_rate: Key[str | None, str]
    processors: Key[int, int]

class AcceleratorNode(Table):
    accelerators: Key[int, int]
    is_mesh: Key[bool | None, bool]
    latency: Key[str, str]
    rate: Key[str, str]
    reduction_rate: Key[str | None, str]

class ActivitySpec(Table):
    load: Key[float | None, float]
    packet: Key[str, str]
    saving: Key[SavingName | None, SavingName]

class AdaptiveParams(Table):
    start: Key[int, int]

class AddressLearning(Table):
    ageing: Key[str, str]
    entries: Key[int | None, int]

class Adversarial(Table):
    hosts_per_switch: Key[int | None, int]
    offset: Key[int, int]

class AllToAll(Table):
    algorithm: Key[AlgorithmName | None, AlgorithmName]
    bytes: Key[str, str]
    iterations: Key[int, int]
    library: Key[LibraryName, LibraryName]
    ranks: Key[int, int]

class Alternating(Table):
    patterns: Key[List[Pattern], Sequence[Keys]]
    period: Key[str, str]

class Arrangement(Table):
    random: Key[ArrangementRandom, ArrangementRandom | Keys]

class ArrangementRandom(Table):
    seed: Key[int | None, int]

class Arrival(Table):
    bernoulli: Key[Bernoulli, Bernoulli | Keys]
    poisson: Key[Any, Any]
    log_normal: Key[LogNormal, LogNormal | Keys]
    on_off: Key[OnOff, OnOff | Keys]
    periodic: Key[Periodic, Periodic | Keys]

class AsBuilt(Table):
    breakout: Key[int, int]
    extra: Key[List[ExtraLink], Sequence[Keys]]
    failed: Key[Sequence[str], Sequence[str]]
    hosts: Key[int | None, int]
    radix: Key[int | None, int]
    slow: Key[List[SlowLink], Sequence[Keys]]

class AxisSpec(Table):
    count: Key[int | None, int]
    key: Key[str | None, str]
    scale: Key[ScaleName, ScaleName]
    to: Key[Any, Any]
    values: Key[Sequence[Any], Sequence[Any]]
    zip: Key[str | None, str]

class Bernoulli(Table):
    slots_per_packet: Key[int, int]

class Binding(Table):
    listed: Key[Sequence[int] | None, Sequence[int]]

class BurstLength(Table):
    pareto: Key[BurstLengthPareto, BurstLengthPareto | Keys]

class BurstLengthPareto(Table):
    shape: Key[float | None, float]

class Cells(Table):
    delay: Key[str, str]
    factor: Key[float | None, float]
    fixed: Key[str | None, str]
    rates: Key[List[TableRate], Sequence[Keys]]
    response: Key[PeerResponseName, PeerResponseName]
    response_factor: Key[float | None, float]
    size: Key[str | None, str]

class Chakra(Table):
    compute_scale: Key[float, float]
    control_dependencies: Key[bool, bool]
    file: Key[str | None, str]
    groups: Key[Any, Any]
    groups_file: Key[str | None, str]
    iterations: Key[int, int]
    library: Key[LibraryName, LibraryName]
    missing_dependencies: Key[MissingDependenciesName, MissingDependenciesName]
    network_rate: Key[str | None, str]
    per_teraflop: Key[str | None, str]
    sha256: Key[str | None, str]

class Checkpoint(Table):
    access: Key[CheckpointAccessName, CheckpointAccessName]
    checkpoints: Key[int, int]
    interval: Key[str, str]
    parameter_bytes: Key[int, int]
    parameters: Key[int, int]
    piece: Key[str, str]
    server_rate: Key[str, str]
    servers: Key[int, int]
    stripes: Key[int, int]
    writers: Key[int, int]

class ClassCodes(Table):
    host: Key[ForwardErrorCorrectionName | None, ForwardErrorCorrectionName]
    local: Key[ForwardErrorCorrectionName | None, ForwardErrorCorrectionName]

class Collective(Table):
    alltoall: Key[CollectiveAlltoall, CollectiveAlltoall | Keys]
    allgather: Key[CollectiveAllgather, CollectiveAllgather | Keys]
    allreduce: Key[CollectiveAllreduce, CollectiveAllreduce | Keys]
    bcast: Key[CollectiveBcast, CollectiveBcast | Keys]
    gather: Key[CollectiveGather, CollectiveGather | Keys]
    scatter: Key[CollectiveScatter, CollectiveScatter | Keys]
    reduce: Key[CollectiveReduce, CollectiveReduce | Keys]
    reduce_scatter: Key[CollectiveReduceScatter, CollectiveReduceScatter | Keys]
    reduce_scatter_block: Key[CollectiveReduceScatterBlock, CollectiveReduceScatterBlock | Keys]
    scan: Key[CollectiveScan, CollectiveScan | Keys]
    exscan: Key[CollectiveExscan, CollectiveExscan | Keys]
    gatherv: Key[CollectiveGatherv, CollectiveGatherv | Keys]
    scatterv: Key[CollectiveScatterv, CollectiveScatterv | Keys]
    allgatherv: Key[CollectiveAllgatherv, CollectiveAllgatherv | Keys]
    neighbor_allgather: Key[CollectiveNeighborAllgather, CollectiveNeighborAllgather | Keys]
    neighbor_alltoall: Key[CollectiveNeighborAlltoall, CollectiveNeighborAlltoall | Keys]
    alltoallv: Key[CollectiveAlltoallv, CollectiveAlltoallv | Keys]
    alltoallw: Key[CollectiveAlltoallw, CollectiveAlltoallw | Keys]

class CollectiveAllgather(Table):
    bytes: Key[str | None, str]

class CollectiveAllgatherv(Table):
    bytes: Key[Sequence[str] | None, Sequence[str]]

class CollectiveAllreduce(Table):
    bytes: Key[str | None, str]

class CollectiveAlltoall(Table):
    bytes: Key[str | None, str]

class CollectiveAlltoallv(Table):
    bytes: Key[Sequence[str] | None, Sequence[str]]

class CollectiveAlltoallw(Table):
    bytes: Key[Sequence[str] | None, Sequence[str]]

class CollectiveBcast(Table):
    bytes: Key[str | None, str]
    root: Key[int | None, int]

class CollectiveExscan(Table):
    bytes: Key[str | None, str]

class CollectiveGather(Table):
    bytes: Key[str | None, str]
    root: Key[int | None, int]

class CollectiveGatherv(Table):
    bytes: Key[Sequence[str] | None, Sequence[str]]
    root: Key[int | None, int]

class CollectiveNeighborAllgather(Table):
    bytes: Key[str | None, str]
    dims: Key[Sequence[int] | None, Sequence[int]]

class CollectiveNeighborAlltoall(Table):
    bytes: Key[str | None, str]
    dims: Key[Sequence[int] | None, Sequence[int]]

class CollectiveReduce(Table):
    bytes: Key[str | None, str]
    root: Key[int | None, int]

class CollectiveReduceScatter(Table):
    bytes: Key[str | None, str]

class CollectiveReduceScatterBlock(Table):
    bytes: Key[str | None, str]

class CollectiveScan(Table):
    bytes: Key[str | None, str]

class CollectiveScatter(Table):
    bytes: Key[str | None, str]
    root: Key[int | None, int]

class CollectiveScatterv(Table):
    bytes: Key[Sequence[str] | None, Sequence[str]]
    root: Key[int | None, int]

class CommandStall(Table):
    duration: Key[str | None, str]
    statistics_commands: Key[int, int]
    statistics_period: Key[str, str]

class ConditionalTables(Table):
    alternatives: Key[int | None, int]
    compaction: Key[CompactionKindName | None, CompactionKindName]
    priorities: Key[int | None, int]
    trigger: Key[Trigger, Trigger | Keys | TriggerName]

class ContextCache(Table):
    entries: Key[int, int]
    miss: Key[str, str]

class ControlSpec(Table):
    addresses: Key[AddressKindName, AddressKindName]
    alternatives: Key[int | None, int]
    anti_spoofing: Key[SpoofingKindName, SpoofingKindName]
    arp_rate: Key[int, int]
    dmp_rate: Key[int, int]
    ipv4: Key[str, str]
    lldp_rate: Key[int, int]
    pauses: Key[PauseKindName, PauseKindName]
    priorities: Key[Sequence[int], Sequence[int]]
    protocol: Key[ProtocolKindName, ProtocolKindName]
    resolution: Key[ResolutionKindName, ResolutionKindName]
    rules: Key[RuleKindName, RuleKindName]

class ControllerParams(Table):
    reaction: Key[str, str]

class CoreParams(Table):
    per_socket: Key[int, int]
    sockets: Key[int, int]

class CpuCosts(Table):
    acknowledgement: Key[str, str]
    interrupt: Key[str, str]
    merge_frames: Key[int | None, int]
    offload: Key[str, str]
    receive_batch: Key[str, str]
    receive_call: Key[str, str]
    receive_frame: Key[str, str]
    receive_per_kib: Key[str, str]
    send_call: Key[str, str]
    send_per_kib: Key[str, str]

class Credits(Table):
    buffer: Key[str | None, str]
    global_buffer: Key[str | None, str]
    priorities: Key[Sequence[int], Sequence[int]]
    return_latency: Key[str, str]
    unit: Key[str, str]
    update_spacing: Key[str | None, str]

class Custom(Table):
    as_built: Key[AsBuilt, AsBuilt | Keys]
    cable: Key[str, str]
    file: Key[str | None, str]
    graphml: Key[str | None, str]
    hosts: Key[int, int]
    json: Key[str | None, str]
    links: Key[str | None, str]
    rate: Key[str, str]

class Dcqcn(Table):
    alpha_update: Key[AlphaUpdateName, AlphaUpdateName]
    clamp_tgt_rate: Key[bool, bool]
    clamp_tgt_rate_after_time_inc: Key[bool, bool]
    dce_tcp_g: Key[int, int]
    dce_tcp_rtt: Key[str, str]
    initial_alpha_value: Key[int, int]
    min_time_between_cnps: Key[str, str]
    profile: Key[Literal["paper"] | None, Literal["paper"]]
    rate_reduce_monitor_period: Key[str, str]
    rate_to_set_on_first_cnp: Key[str | None, str]
    rpg_ai_rate: Key[str, str]
    rpg_byte_reset: Key[str, str]
    rpg_gd: Key[int, int]
    rpg_hai_rate: Key[str, str]
    rpg_min_dec_fac: Key[int, int]
    rpg_min_rate: Key[str, str]
    rpg_threshold: Key[int, int]
    rpg_time_reset: Key[str, str]

class DecodeExperts(Table):
    every: Key[int, int]
    layers: Key[int, int]
    moe: Key[Moe, Moe | Keys]

class DegradedSpec(Table):
    bit_error_rate: Key[float | None, float]
    fec: Key[ForwardErrorCorrectionName | None, ForwardErrorCorrectionName]
    link: Key[str | None, str]
    parallel: Key[int, int]
    retry: Key[LinkRetry, LinkRetry | Keys]
    until: Key[str | None, str]

class DesignSpec(Table):
    activity: Key[ActivitySpec, ActivitySpec | Keys]
    power: Key[str | None, str]
    power_file: Key[str | None, str]
    power_text: Key[str | None, str]
    prices: Key[str | None, str]
    prices_file: Key[str | None, str]
    prices_text: Key[str | None, str]
    priorities: Key[int | None, int]
    routings: Key[Sequence[RoutingKindName | Keys] | None, Sequence[RoutingKindName | Keys]]
    tables: Key[TablesSpec, TablesSpec | Keys]

class Dimension(Table):
    cable: Key[str, str]
    lag: Key[int, int]
    rate: Key[str, str]
    size: Key[int, int]

class DownSpec(Table):
    link: Key[str | None, str]
    parallel: Key[int, int]
    switch: Key[str | None, str]
    until: Key[str | None, str]

class Dragonfly(Table):
    a: Key[int, int]
    arrangement: Key[Arrangement, Arrangement | Keys | ArrangementName]
    as_built: Key[AsBuilt, AsBuilt | Keys]
    global_cable: Key[str, str]
    global_rate: Key[str, str]
    groups: Key[int | None, int]
    h: Key[int, int]
    host_cable: Key[str, str]
    host_rate: Key[str, str]
    local_cable: Key[str, str]
    local_rate: Key[str, str]
    p: Key[int, int]

class DragonflyPlus(Table):
    arrangement: Key[Arrangement, Arrangement | Keys | ArrangementName]
    as_built: Key[AsBuilt, AsBuilt | Keys]
    global_cable: Key[str, str]
    global_rate: Key[str, str]
    groups: Key[int | None, int]
    h: Key[int, int]
    host_cable: Key[str, str]
    host_rate: Key[str, str]
    leaves: Key[int, int]
    local_cable: Key[str, str]
    local_rate: Key[str, str]
    p: Key[int, int]
    spines: Key[int, int]

class DrawnRequests(Table):
    count: Key[int, int]
    input: Key[TokenCounts, TokenCounts | Keys]
    interval: Key[str, str]
    output: Key[TokenCounts, TokenCounts | Keys]
    variation: Key[float, float]

class Driven(Table):
    ranks: Key[int, int]
    streams: Key[int, int]

class DynamicConnections(Table):
    connect: Key[str, str]
    initiators: Key[int, int]

class EcmpHash(Table):
    polarised: Key[bool, bool]
    seed: Key[int, int]

class EcnMarking(Table):
    last_hop: Key[bool, bool]
    mark_at: Key[MarkAtName, MarkAtName]
    queue_max: Key[str | None, str]
    queue_min: Key[str | None, str]
    share_max: Key[float | None, float]

class ElasticTreeParams(Table):
    load_percent_max: Key[int, int]

class EpochRates(Table):
    epoch: Key[str, str]
    load_max: Key[float, float]
    rates: Key[Sequence[float] | None, Sequence[float]]
    reactivation: Key[str, str]

class Ets(Table):
    class_of_priority: Key[Sequence[int], Sequence[int]]
    weights: Key[Sequence[int], Sequence[int]]

class ExpertLoads(Table):
    file: Key[str | None, str]
    text: Key[str, str]

class ExtraLink(Table):
    cable: Key[str, str]
    links: Key[int, int]
    rate: Key[str, str]
    to: Key[str | None, str]

class FastForwardSpec(Table):
    error: Key[float | str, float | str]
    shadows: Key[float | str, float | str]

class FatTree(Table):
    as_built: Key[AsBuilt, AsBuilt | Keys]
    cores: Key[int, int]
    host_cable: Key[str, str]
    host_rate: Key[str, str]
    hosts_per_leaf: Key[int, int]
    leaves: Key[int, int]
    links_per_core: Key[int, int]
    uplink_cable: Key[str, str]
    uplink_rate: Key[str, str]

class FaultsSpec(Table):
    degraded: Key[List[DegradedSpec], Sequence[Keys]]
    down: Key[List[DownSpec], Sequence[Keys]]
    pause_storm: Key[List[PauseStormSpec], Sequence[Keys]]
    reroute_after: Key[str | None, str]

class Fft(Table):
    algorithm: Key[AlgorithmName | None, AlgorithmName]
    iterations: Key[int, int]
    library: Key[LibraryName, LibraryName]
    pex: Key[int, int]
    pey: Key[int, int]
    pez: Key[int, int]
    x_bytes: Key[str, str]
    y_bytes: Key[str, str]
    z_bytes: Key[str, str]

class FixedFrames(Table):
    control: Key[str | None, str]
    header: Key[str | None, str]

class FlattenedButterfly(Table):
    as_built: Key[AsBuilt, AsBuilt | Keys]
    global_cable: Key[str, str]
    host_cable: Key[str, str]
    hosts_per_switch: Key[int, int]
    local_cable: Key[str, str]
    rate: Key[str, str]
    sizes: Key[Sequence[int], Sequence[int]]

class FlowControl(Table):
    none: Key[Any, Any]
    global_pause: Key[GlobalPause, GlobalPause | Keys]
    pfc: Key[Pfc, Pfc | Keys]
    credits: Key[Credits, Credits | Keys]

class FlowIncast(Table):
    bytes: Key[str, str]
    load: Key[float | str, float | str]
    senders: Key[int, int]

class FlowSizes(Table):
    fixed: Key[str | None, str]
    points: Key[SizePoints, SizePoints | Keys]

class FlowletParams(Table):
    gap: Key[str, str]

class Flows(Table):
    arrivals: Key[Arrival, Arrival | Keys]
    duration: Key[str, str]
    file: Key[str | None, str]
    flows_max: Key[int | None, int]
    group: Key[int | None, int]
    ideal: Key[IdealTimeName, IdealTimeName]
    incast: Key[FlowIncast, FlowIncast | Keys]
    load: Key[float | str, float | str]
    load_of: Key[LoadOfName, LoadOfName]
    pairs: Key[Pattern, Pattern | Keys]
    priority: Key[int | None, int]
    ranks: Key[int | None, int]
    rate: Key[str | None, str]
    seed: Key[int | None, int]
    sha256: Key[str | None, str]
    sizes: Key[FlowSizes, FlowSizes | Keys | FlowSizesName]
    text: Key[str | None, str]

class FoldedClos(Table):
    as_built: Key[AsBuilt, AsBuilt | Keys]
    host_cable: Key[str, str]
    host_rate: Key[str, str]
    hosts: Key[int, int]
    radix: Key[int, int]
    uplinks: Key[List[Uplinks], Sequence[Keys]]

class Gate(Table):
    zipf: Key[GateZipf, GateZipf | Keys]
    hot: Key[GateHot, GateHot | Keys]
    loads: Key[ExpertLoads, ExpertLoads | Keys]

class GateHot(Table):
    experts: Key[int | None, int]
    share: Key[float | str | None, float | str]

class GateZipf(Table):
    alpha: Key[float | None, float]

class GlobalPause(Table):
    quanta: Key[int, int]
    reaction: Key[str, str]

class Goal(Table):
    file: Key[str | None, str]
    iterations: Key[int, int]
    sha256: Key[str | None, str]
    text: Key[str, str]

class Gpcnet(Table):
    allreduces: Key[int, int]
    alltoalls: Key[int, int]
    bandwidth_turns: Key[int, int]
    groups: Key[int, int]
    latency_turns: Key[int, int]
    library: Key[LibraryName, LibraryName]
    ranks: Key[int, int]
    rings: Key[int, int]
    tests: Key[Sequence[GpcnetTestName], Sequence[GpcnetTestName]]

class GpcnetCongestor(Table):
    bytes: Key[str, str]
    groups: Key[int, int]
    kind: Key[GpcnetCongestionName, GpcnetCongestionName]
    library: Key[LibraryName, LibraryName]
    passes: Key[int, int]
    ranks: Key[int, int]

class GroupLocal(Table):
    leaf_hosts: Key[int | None, int]
    leaf_share: Key[float | str | None, float | str]
    share: Key[float | str, float | str]

class Halo3d(Table):
    boundary: Key[BoundaryName, BoundaryName]
    corners: Key[bool, bool]
    iterations: Key[int, int]
    nx: Key[int, int]
    ny: Key[int, int]
    nz: Key[int, int]
    pex: Key[int, int]
    pey: Key[int, int]
    pez: Key[int, int]
    sleep: Key[str, str]
    vars: Key[int, int]

class HostParams(Table):
    cached_max: Key[str | None, str]
    cores: Key[CoreParams, CoreParams | Keys]
    cpu: Key[CpuCosts, CpuCosts | Keys]
    memory: Key[str | None, str]
    memory_rate: Key[str | None, str]
    mpi_roce: Key[MpiParams, MpiParams | Keys]
    mpi_tcp: Key[MpiParams, MpiParams | Keys]
    noise: Key[Noise, Noise | Keys]
    profile: Key[
        Literal["mlnx-ofed-4.6", "linux-6.x"] | None, Literal["mlnx-ofed-4.6", "linux-6.x"]
    ]
    receive: Key[ReceiveParams, ReceiveParams | Keys]
    shared_memory: Key[SharedMemoryParams, SharedMemoryParams | Keys]
    start_jitter: Key[str, str]
    timer_slack: Key[str, str]
    transmit: Key[TransmitParams, TransmitParams | Keys]

class HostPortsSpec(Table):
    choice: Key[PortChoiceName | None, PortChoiceName]
    detection: Key[str | None, str]
    leaves: Key[int, int]
    planes: Key[int, int]

class HotSpot(Table):
    hosts: Key[Sequence[int], Sequence[int]]
    share: Key[float | str, float | str]

class Hpcc(Table):
    additive_increase: Key[str, str]
    base_round_trip: Key[str, str]
    stages_max: Key[int, int]
    switches: Key[int, int]
    utilisation: Key[int, int]

class HpccFft(Table):
    iterations: Key[int, int]
    library: Key[LibraryName, LibraryName]
    log2_size: Key[int, int]
    passes: Key[int, int]
    per_gflop: Key[str, str]
    ranks: Key[int, int]
    scope: Key[FftScopeName, FftScopeName]

class HpccMpifft(Table):
    algorithm: Key[AlgorithmName | None, AlgorithmName]
    compute: Key[str, str]
    copy_rate: Key[str | None, str]
    iterations: Key[int, int]
    library: Key[LibraryName, LibraryName]
    local: Key[int | None, int]
    ranks: Key[int, int]

class HpccPtrans(Table):
    block: Key[int, int]
    columns: Key[int, int]
    copy_rate: Key[str | None, str]
    iterations: Key[int, int]
    library: Key[LibraryName, LibraryName]
    rows: Key[int, int]
    size: Key[int, int]

class HpccRandomAccess(Table):
    iterations: Key[int, int]
    library: Key[LibraryName, LibraryName]
    log2_table: Key[int, int]
    per_update: Key[str, str]
    ranks: Key[int, int]
    rounds: Key[int, int]

class HpccRing(Table):
    bytes: Key[str, str]
    library: Key[LibraryName, LibraryName]
    loops: Key[int, int]
    measurements: Key[int, int]
    random_rings: Key[int, int]
    ranks: Key[int, int]

class Hpl(Table):
    block: Key[int, int]
    broadcast: Key[PanelBroadcastName, PanelBroadcastName]
    columns: Key[int, int]
    depth: Key[int, int]
    file: Key[str | None, str]
    order: Key[GridOrderName, GridOrderName]
    panel_per_gflop: Key[str, str]
    rows: Key[int, int]
    samples: Key[int | None, int]
    size: Key[int, int]
    swap: Key[RowSwapName, RowSwapName]
    swap_threshold: Key[int, int]
    update_per_gflop: Key[str, str]

class HyperX(Table):
    as_built: Key[AsBuilt, AsBuilt | Keys]
    dimensions: Key[List[Dimension], Sequence[Keys]]
    host_cable: Key[str, str]
    host_rate: Key[str, str]
    hosts_per_switch: Key[int, int]

class Imb(Table):
    bytes: Key[str, str]
    iterations: Key[int, int]
    ranks: Key[int, int]
    test: Key[ImbTestName, ImbTestName]
    warm_up: Key[int, int]

class Incast(Table):
    message: Key[str, str]
    messages: Key[int | None, int]
    outstanding: Key[int, int]
    sources: Key[int, int]
    streams_per_source: Key[int, int]

class Inference(Table):
    batch_max: Key[int, int]
    between_tokens_max: Key[str, str]
    block: Key[int, int]
    cache: Key[KvCache, KvCache | Keys]
    cache_memory: Key[str | None, str]
    decode: Key[Pool, Pool | Keys]
    decode_per_request: Key[str, str]
    decode_step: Key[str, str]
    experts: Key[DecodeExperts, DecodeExperts | Keys]
    first_token_max: Key[str, str]
    layers: Key[int | None, int]
    prefill: Key[Pool, Pool | Keys]
    prefill_per_token: Key[str, str]
    prefill_start: Key[str, str]
    requests: Key[ServedRequests, ServedRequests | Keys]
    transfer: Key[KvTransferName, KvTransferName]

class InjectionDelay(Table):
    delay_max: Key[str, str]
    index_increase: Key[int, int]
    index_max: Key[int, int]
    timer: Key[str, str]

class InterconnectSpec(Table):
    addresses: Key[int | None, int]
    file: Key[str | None, str]
    profile: Key[
        Literal[
            "ethernet-1-tcp",
            "ethernet-10-tcp",
            "ethernet-10-roce",
            "ethernet-25-tcp",
            "ethernet-25-roce",
            "ethernet-40-tcp",
            "ethernet-40-roce",
            "ethernet-50-tcp",
            "ethernet-50-roce",
            "ethernet-100-tcp",
            "ethernet-100-roce",
            "ethernet-200-tcp",
            "ethernet-200-roce",
            "ethernet-400-tcp",
            "ethernet-400-roce",
            "ethernet-800-tcp",
            "ethernet-800-roce",
            "ultra-ethernet-400",
            "ultra-ethernet-800",
            "iwarp-40",
            "efa-100",
            "infiniband-qdr",
            "infiniband-fdr",
            "infiniband-edr",
            "infiniband-hdr",
            "infiniband-hdr100",
            "infiniband-ndr",
            "infiniband-edr-ipoib",
            "infiniband-hdr-ipoib",
            "omni-path-100",
            "omni-path-400",
            "slingshot-10",
            "slingshot-11",
            "aries",
            "tofu",
            "tofu-2",
            "tofu-d",
            "bxi-2",
        ]
        | None,
        Literal[
            "ethernet-1-tcp",
            "ethernet-10-tcp",
            "ethernet-10-roce",
            "ethernet-25-tcp",
            "ethernet-25-roce",
            "ethernet-40-tcp",
            "ethernet-40-roce",
            "ethernet-50-tcp",
            "ethernet-50-roce",
            "ethernet-100-tcp",
            "ethernet-100-roce",
            "ethernet-200-tcp",
            "ethernet-200-roce",
            "ethernet-400-tcp",
            "ethernet-400-roce",
            "ethernet-800-tcp",
            "ethernet-800-roce",
            "ultra-ethernet-400",
            "ultra-ethernet-800",
            "iwarp-40",
            "efa-100",
            "infiniband-qdr",
            "infiniband-fdr",
            "infiniband-edr",
            "infiniband-hdr",
            "infiniband-hdr100",
            "infiniband-ndr",
            "infiniband-edr-ipoib",
            "infiniband-hdr-ipoib",
            "omni-path-100",
            "omni-path-400",
            "slingshot-10",
            "slingshot-11",
            "aries",
            "tofu",
            "tofu-2",
            "tofu-d",
            "bxi-2",
        ],
    ]
    without: Key[Sequence[str] | None, Sequence[str]]

class JobSpec(Table):
    background: Key[bool, bool]
    binding: Key[Binding, Binding | Keys | BindingName]
    connections: Key[Any, Any]
    fidelity: Key[FidelityName | None, FidelityName]
    name: Key[str | None, str]
    placement: Key[Placement, Placement | Keys]
    priority: Key[int, int]
    rank_order: Key[RankOrder, RankOrder | Keys | RankOrderName]
    ranks_per_host: Key[int, int]
    shared_hosts: Key[bool | None, bool]
    start: Key[str, str]
    transport: Key[Transport, Transport | Keys]
    workload: Key[Workload, Workload | Keys]

class KAryFatTree(Table):
    as_built: Key[AsBuilt, AsBuilt | Keys]
    host_cable: Key[str, str]
    k: Key[int, int]
    rate: Key[str, str]
    uplink_cable: Key[str, str]

class KvCache(Table):
    grouped: Key[KvCacheGrouped, KvCacheGrouped | Keys]
    latent: Key[KvCacheLatent, KvCacheLatent | Keys]

class KvCacheGrouped(Table):
    heads: Key[int | None, int]
    layers: Key[int | None, int]
    value_bytes: Key[int | None, int]
    width: Key[int | None, int]

class KvCacheLatent(Table):
    layers: Key[int | None, int]
    value_bytes: Key[int | None, int]
    width: Key[int | None, int]

class LinkRetry(Table):
    buffer: Key[str | None, str]
    latency: Key[str, str]
    message_spacing: Key[str, str]
    replays_max: Key[int, int]

class Listed(Table):
    pairs: Key[Sequence[Sequence[int]], Sequence[Sequence[int]]]

class ListedRequests(Table):
    file: Key[str | None, str]
    text: Key[str, str]

class LoadBalancer(Table): ...

class LogNormal(Table):
    sigma: Key[float, float]

class LowPowerIdleTimes(Table):
    after: Key[str, str]
    sleep: Key[str | None, str]
    wake: Key[str | None, str]

class Matrix(Table):
    file: Key[str | None, str]
    rows: Key[Sequence[Sequence[float]] | None, Sequence[Sequence[float]]]
    text: Key[str | None, str]

class MeasurementParams(Table):
    change_max: Key[float | None, float]
    flow_min: Key[float, float]
    interval: Key[str | None, str]
    reaction: Key[str, str]
    sampling: Key[int, int]

class Mesh(Table):
    as_built: Key[AsBuilt, AsBuilt | Keys]
    dimensions: Key[List[Dimension], Sequence[Keys]]
    host_cable: Key[str, str]
    host_rate: Key[str, str]
    hosts_per_switch: Key[int, int]

class MinimalTables(Table):
    address_plan: Key[PlanKindName | None, PlanKindName]
    compaction: Key[CompactionKindName | None, CompactionKindName]

class Moderation(Table):
    off: Key[Any, Any]
    fixed: Key[ModerationProfile, ModerationProfile | Keys]
    adaptive: Key[AdaptiveParams, AdaptiveParams | Keys]
    throttled: Key[ThrottleParams, ThrottleParams | Keys]

class ModerationProfile(Table):
    count: Key[int | None, int]
    period: Key[str | None, str]

class Moe(Table):
    chunk: Key[int, int]
    combine_latency: Key[str | None, str]
    compute: Key[str, str]
    experts: Key[int, int]
    format: Key[TokenFormatName, TokenFormatName]
    gate: Key[Gate, Gate | Keys | GateName]
    group_limit: Key[int, int]
    groups: Key[int, int]
    hidden: Key[int, int]
    iterations: Key[int, int]
    mode: Key[MoeModeName, MoeModeName]
    node: Key[AcceleratorNode, AcceleratorNode | Keys]
    ranks: Key[int, int]
    tokens: Key[int, int]
    top_k: Key[int, int]

class MpiParams(Table):
    collective_eager_max: Key[str | None, str]
    eager_max: Key[str, str]
    eager_receive_per_kib: Key[str, str]
    eager_send_per_kib: Key[str, str]
    fragment: Key[str | None, str]
    handling_overhead: Key[str, str]
    header: Key[str, str]
    matched_by_nic: Key[bool | None, bool]
    poll: Key[str | None, str]
    poll_per_connection: Key[str | None, str]
    profile: Key[
        Literal["ucx-1.6", "ucx-1.15", "ucx-1.16", "ucx-1.18", "openmpi-4.0", "nccl-2.21", "deepep"]
        | None,
        Literal[
            "ucx-1.6", "ucx-1.15", "ucx-1.16", "ucx-1.18", "openmpi-4.0", "nccl-2.21", "deepep"
        ],
    ]
    receive_overhead: Key[str, str]
    reduce_cached_per_kib: Key[str | None, str]
    reduce_per_kib: Key[str | None, str]
    rendezvous_window: Key[str | None, str]
    self_per_kib: Key[str, str]
    send_overhead: Key[str, str]
    temporary_min: Key[str | None, str]
    temporary_per_kib: Key[str | None, str]

class NcclOperation(Table):
    allreduce: Key[NcclOperationAllreduce, NcclOperationAllreduce | Keys]
    reduce_scatter: Key[NcclOperationReduceScatter, NcclOperationReduceScatter | Keys]
    allgather: Key[NcclOperationAllgather, NcclOperationAllgather | Keys]
    alltoall: Key[NcclOperationAlltoall, NcclOperationAlltoall | Keys]
    bcast: Key[NcclOperationBcast, NcclOperationBcast | Keys]
    reduce: Key[NcclOperationReduce, NcclOperationReduce | Keys]
    gather: Key[NcclOperationGather, NcclOperationGather | Keys]
    scatter: Key[NcclOperationScatter, NcclOperationScatter | Keys]
    sendrecv: Key[NcclOperationSendrecv, NcclOperationSendrecv | Keys]
    hypercube: Key[NcclOperationHypercube, NcclOperationHypercube | Keys]

class NcclOperationAllgather(Table):
    bytes: Key[str | None, str]

class NcclOperationAllreduce(Table):
    bytes: Key[str | None, str]

class NcclOperationAlltoall(Table):
    bytes: Key[str | None, str]

class NcclOperationBcast(Table):
    bytes: Key[str | None, str]
    root: Key[int | None, int]

class NcclOperationGather(Table):
    bytes: Key[str | None, str]
    root: Key[int | None, int]

class NcclOperationHypercube(Table):
    bytes: Key[str | None, str]

class NcclOperationReduce(Table):
    bytes: Key[str | None, str]
    root: Key[int | None, int]

class NcclOperationReduceScatter(Table):
    bytes: Key[str | None, str]

class NcclOperationScatter(Table):
    bytes: Key[str | None, str]
    root: Key[int | None, int]

class NcclOperationSendrecv(Table):
    bytes: Key[str | None, str]

class NcclTests(Table):
    algorithm: Key[AlgorithmName | None, AlgorithmName]
    channels: Key[int | None, int]
    collnet: Key[bool | None, bool]
    iterations: Key[int, int]
    network_rate: Key[str, str]
    node: Key[AcceleratorNode, AcceleratorNode | Keys]
    operation: Key[NcclOperation, NcclOperation | Keys]
    protocol: Key[ProtocolName | None, ProtocolName]
    ranks: Key[int, int]
    rounds: Key[int | None, int]

class Neighbour(Table):
    extents: Key[Sequence[int], Sequence[int]]

class NicParams(Table):
    clock_ppm: Key[int, int]
    command_stall: Key[CommandStall, CommandStall | Keys]
    context_cache: Key[ContextCache, ContextCache | Keys]
    context_switch: Key[str, str]
    drain_rate: Key[str, str]
    dynamic_connections: Key[DynamicConnections, DynamicConnections | Keys]
    low_power_idle: Key[LowPowerIdleTimes, LowPowerIdleTimes | Keys]
    pcie: Key[Pcie, Pcie | Keys]
    profile: Key[
        Literal["connectx-4", "connectx-4-lx", "connectx-5", "bcm57414", "ql41000", "t62100"]
        | None,
        Literal["connectx-4", "connectx-4-lx", "connectx-5", "bcm57414", "ql41000", "t62100"],
    ]
    rate_adaptation: Key[EpochRates, EpochRates | Keys]
    receive_buffer: Key[str, str]
    receive_latency: Key[str, str]
    shaper: Key[TokenBucket, TokenBucket | Keys]
    transmit_latency: Key[str, str]
    xoff: Key[str, str]
    xon: Key[str, str]

class Noise(Table):
    duration: Key[str | None, str]
    every: Key[str | None, str]

class Notification(Table):
    hold: Key[str | None, str]
    sample_base: Key[str, str]
    set_point: Key[str, str]
    weight: Key[int, int]

class Npb(Table):
    benchmark: Key[NpbBenchmarkName, NpbBenchmarkName]
    iterations: Key[int, int]
    library: Key[LibraryName, LibraryName]
    per_gflop: Key[str, str]
    ranks: Key[int, int]
    samples: Key[int | None, int]

class NpbCg(Table):
    compute: Key[str, str]
    inner: Key[int, int]
    iterations: Key[int, int]
    ranks: Key[int, int]

class Nscc(Table):
    base_round_trip: Key[str, str]
    initial_window: Key[str | None, str]
    target_delay: Key[str | None, str]
    variant: Key[NsccVariantName, NsccVariantName]

class ObserveSpec(Table):
    busiest: Key[int | None, int]
    flows: Key[Sequence[str], Sequence[str]]
    hosts: Key[Sequence[str], Sequence[str]]
    period: Key[str, str]
    ports: Key[Sequence[str], Sequence[str]]
    ranks: Key[bool, bool]
    until: Key[str | None, str]
    waits: Key[bool, bool]

class OnOff(Table):
    burst: Key[int, int]
    length: Key[BurstLength, BurstLength | Keys | BurstLengthName]
    peak: Key[float | str, float | str]

class OpenLoopSpec(Table):
    allocation_rounds: Key[int | None, int]
    arrival: Key[Arrival, Arrival | Keys]
    batch: Key[str, str]
    controller: Key[ControllerParams, ControllerParams | Keys]
    ejection_delay: Key[str | None, str]
    injection_channels: Key[int, int]
    injection_queue: Key[int, int]
    loads: Key[Sequence[float], Sequence[float]]
    longest: Key[str, str]
    measured: Key[str | None, str]
    packet: Key[str, str]
    patterns: Key[Sequence[Any], Sequence[Any]]
    precision: Key[float, float]
    reroute_after: Key[str | None, str]
    routings: Key[Sequence[RoutingKindName | Keys], Sequence[RoutingKindName | Keys]]
    saturation: Key[bool, bool]
    scheduler: Key[ChannelSchedulerName, ChannelSchedulerName]
    tables: Key[TableParams, TableParams | Keys]
    transit_first: Key[bool, bool]
    warm_up: Key[str | None, str]

class Openfoam(Table):
    cells: Key[int, int]
    iterations: Key[int, int]
    library: Key[LibraryName, LibraryName]
    momentum_sweeps: Key[int, int]
    per_cell: Key[str, str]
    pressure: Key[PressureSolver, PressureSolver | Keys]
    ranks: Key[int, int]
    samples: Key[int | None, int]
    turbulence_sweeps: Key[int, int]

class OsuBibw(Table):
    bytes: Key[str, str]
    iterations: Key[int, int]
    warm_up: Key[int, int]
    window: Key[int, int]

class OsuBw(Table):
    bytes: Key[str, str]
    iterations: Key[int, int]
    pairs: Key[int, int]
    warm_up: Key[int, int]
    window: Key[int, int]

class OsuCollective(Table):
    algorithm: Key[AlgorithmName | None, AlgorithmName]
    compute: Key[str | None, str]
    iterations: Key[int, int]
    library: Key[LibraryName, LibraryName]
    network_rate: Key[str | None, str]
    operation: Key[Collective, Collective | Keys | CollectiveName]
    protocol: Key[ProtocolName | None, ProtocolName]
    radix: Key[int | None, int]
    ranks: Key[int, int]
    ranks_per_leaf: Key[int | None, int]
    ranks_per_node: Key[int | None, int]
    samples: Key[int | None, int]
    segment: Key[str | None, str]
    warm_up: Key[int, int]

class OsuLatency(Table):
    bytes: Key[str, str]
    iterations: Key[int, int]
    pairs: Key[int, int]
    warm_up: Key[int, int]

class OsuOneSidedBw(Table):
    access: Key[AccessName, AccessName]
    bidirectional: Key[bool, bool]
    bytes: Key[str, str]
    iterations: Key[int, int]
    warm_up: Key[int, int]
    window: Key[int, int]

class OsuOneSidedLatency(Table):
    access: Key[AccessName, AccessName]
    bytes: Key[str, str]
    iterations: Key[int, int]
    warm_up: Key[int, int]

class OuterHeader(Table):
    bytes: Key[str | None, str]
    latency: Key[str, str]

class Parallelism(Table):
    bucket: Key[str | None, str]
    context: Key[int, int]
    context_rate: Key[str | None, str]
    expert: Key[int, int]
    interleave: Key[int, int]
    outermost: Key[OutermostName, OutermostName]
    pipeline: Key[int, int]
    prefetch: Key[bool, bool]
    sequence: Key[bool, bool]
    tensor: Key[int, int]
    zero: Key[int, int]

class Partner(Table):
    shift: Key[int | None, int]

class Pattern(Table):
    uniform: Key[Any, Any]
    adversarial: Key[Adversarial, Adversarial | Keys]
    random_permutation: Key[RandomPermutation, RandomPermutation | Keys]
    bit_reverse: Key[Any, Any]
    bit_complement: Key[Any, Any]
    transpose: Key[Transpose, Transpose | Keys]
    tornado: Key[Tornado, Tornado | Keys]
    shift: Key[Shift, Shift | Keys]
    neighbour: Key[Neighbour, Neighbour | Keys]
    hot_spot: Key[HotSpot, HotSpot | Keys]
    group_local: Key[GroupLocal, GroupLocal | Keys]
    listed: Key[Listed, Listed | Keys]
    matrix: Key[Matrix, Matrix | Keys]
    switching: Key[Switching, Switching | Keys]
    alternating: Key[Alternating, Alternating | Keys]

class PauseStormSpec(Table):
    frame: Key[PauseFrameKindName | None, PauseFrameKindName]
    host: Key[str | None, str]
    priorities: Key[Sequence[int] | None, Sequence[int]]
    until: Key[str | None, str]

class Pcie(Table):
    generation: Key[int, int]
    inline_max: Key[str | None, str]
    payload: Key[str, str]
    read_latency: Key[str | None, str]
    read_request: Key[str, str]
    store_and_forward: Key[bool | None, bool]
    width: Key[int, int]

class Periodic(Table):
    phase: Key[FirstArrivalName, FirstArrivalName]

class Permutation(Table):
    bytes: Key[str, str]
    iterations: Key[int, int]
    partner: Key[Partner, Partner | Keys | PartnerName]
    ranks: Key[int, int]

class PermutationStreams(Table):
    message: Key[str, str]
    messages: Key[int, int]
    outstanding: Key[int, int]
    partner: Key[Partner, Partner | Keys | PartnerName]
    ranks: Key[int, int]

class Pfc(Table):
    buffer: Key[str | None, str]
    coupled: Key[bool, bool]
    global_buffer: Key[str | None, str]
    priorities: Key[Sequence[int], Sequence[int]]
    quanta: Key[int, int]
    reaction: Key[str, str]
    watchdog: Key[PfcWatchdog, PfcWatchdog | Keys]

class PfcWatchdog(Table):
    action: Key[WatchdogActionName, WatchdogActionName]
    detection: Key[str, str]
    poll: Key[str, str]
    restoration: Key[str, str]

class PiggybackParams(Table):
    saturation_packets: Key[int, int]
    saturation_percent: Key[int, int]
    threshold: Key[int, int]

class Placement(Table):
    hosts: Key[Sequence[int] | None, Sequence[int]]
    leaves: Key[Sequence[int] | None, Sequence[int]]
    groups: Key[Sequence[int] | None, Sequence[int]]
    random: Key[PlacementRandom, PlacementRandom | Keys]
    linear: Key[PlacementLinear, PlacementLinear | Keys]

class PlacementLinear(Table):
    first: Key[int, int]

class PlacementRandom(Table):
    seed: Key[int | None, int]

class Pool(Table):
    accelerators: Key[int, int]
    workers: Key[int, int]

class PortChooser(Table): ...

class PressureSolver(Table):
    pcg: Key[PressureSolverPcg, PressureSolverPcg | Keys]
    gamg: Key[PressureSolverGamg, PressureSolverGamg | Keys]

class PressureSolverGamg(Table):
    coarsest_iterations: Key[int | None, int]
    cycles: Key[int | None, int]

class PressureSolverPcg(Table):
    iterations: Key[int | None, int]

class Prototype(Table):
    heeds_marks: Key[bool, bool]
    needs_echoes: Key[bool, bool]
    notification_gap: Key[str | None, str]
    telemetry_switches: Key[int, int]

class RailOptimised(Table):
    as_built: Key[AsBuilt, AsBuilt | Keys]
    host_cable: Key[str, str]
    host_rate: Key[str, str]
    links_per_spine: Key[int, int]
    rails: Key[int, int]
    servers: Key[int, int]
    servers_per_pod: Key[int, int]
    spines: Key[int, int]
    uplink_cable: Key[str, str]
    uplink_rate: Key[str, str]

class RandomPermutation(Table):
    fixed_points: Key[bool, bool]

class RankOrder(Table):
    random: Key[RankOrderRandom, RankOrderRandom | Keys]
    listed: Key[Sequence[int] | None, Sequence[int]]

class RankOrderRandom(Table):
    seed: Key[int | None, int]

class Rccc(Table):
    base_round_trip: Key[str, str]
    grant: Key[str, str]
    link_share: Key[float, float]
    oversubscription: Key[float, float]

class ReceiveParams(Table):
    moderation: Key[Moderation, Moderation | Keys]
    queues: Key[int, int]
    ring: Key[int, int]
    timer: Key[ModerationTimerName, ModerationTimerName]

class ReductionParams(Table):
    buffer: Key[str, str]
    latency: Key[str, str]
    radix: Key[int, int]
    trees: Key[int, int]

class RequestLoad(Table):
    closed: Key[RequestLoadClosed, RequestLoadClosed | Keys]
    open: Key[RequestLoadOpen, RequestLoadOpen | Keys]

class RequestLoadClosed(Table):
    outstanding: Key[int | None, int]
    think: Key[str | None, str]

class RequestLoadOpen(Table):
    interval: Key[str | None, str]

class RequestResponse(Table):
    calls: Key[Sequence[Sequence[str]], Sequence[Sequence[str]]]
    clients: Key[int, int]
    fan_out: Key[int, int]
    load: Key[RequestLoad, RequestLoad | Keys]
    request: Key[str, str]
    requests: Key[int, int]
    response: Key[str, str]
    servers: Key[int, int]
    service: Key[str, str]
    service_times: Key[ServiceTimesName, ServiceTimesName]
    services: Key[List[Service], Sequence[Keys]]
    threads: Key[int, int]
    warm_up: Key[int, int]

class RoceParams(Table):
    ack_every: Key[int, int]
    completion_order: Key[CompletionOrderName, CompletionOrderName]
    dcqcn: Key[Dcqcn, Dcqcn | Keys]
    dctcp: Key[Any, Any]
    entropies: Key[int | None, int]
    hpcc: Key[Hpcc, Hpcc | Keys]
    injection_delay: Key[InjectionDelay, InjectionDelay | Keys]
    load_balancing: Key[LoadBalancingName | None, LoadBalancingName]
    loss_detection: Key[LossDetectionName | None, LossDetectionName]
    path_mtu: Key[str, str]
    prototype: Key[Prototype, Prototype | Keys]
    psn_range: Key[int, int]
    reliability: Key[ReliabilityName, ReliabilityName]
    retransmission_timeout: Key[str, str]
    swift: Key[Swift, Swift | Keys]
    tail_loss_probe_min: Key[str, str]
    timely: Key[Timely, Timely | Keys]
    version: Key[RoceVersionName, RoceVersionName]
    window: Key[str, str]

class RoutingKind(Table):
    ugal_local: Key[UgalParams, UgalParams | Keys]
    ugal_global: Key[UgalParams, UgalParams | Keys]
    progressive_adaptive: Key[UgalParams, UgalParams | Keys]
    piggyback: Key[PiggybackParams, PiggybackParams | Keys]
    flowlet: Key[FlowletParams, FlowletParams | Keys]
    elastic_tree: Key[ElasticTreeParams, ElasticTreeParams | Keys]

class RunSpec(Table):
    end: Key[str | None, str]
    fast_forward: Key[FastForwardSpec, FastForwardSpec | Keys]
    fidelity: Key[FidelityName | None, FidelityName]
    fingerprint: Key[bool, bool]
    jobs: Key[Sequence[str] | None, Sequence[str]]
    stall_limit: Key[str | None, str]
    warm_up: Key[str, str]

class SampleSpec(Table):
    count: Key[int | None, int]
    method: Key[SampleMethodName | None, SampleMethodName]
    seed: Key[int, int]

class SelectionKind(Table):
    ecmp_hash: Key[EcmpHash, EcmpHash | Keys]
    destination_modulo: Key[Any, Any]

class ServedRequests(Table):
    drawn: Key[DrawnRequests, DrawnRequests | Keys]
    listed: Key[ListedRequests, ListedRequests | Keys]

class Service(Table):
    calls: Key[Sequence[Sequence[str]], Sequence[Sequence[str]]]
    fan_out: Key[int, int]
    name: Key[str, str]
    request: Key[str, str]
    response: Key[str, str]
    servers: Key[int, int]
    service: Key[str, str]
    service_times: Key[ServiceTimesName, ServiceTimesName]
    threads: Key[int, int]

class SharedMemoryParams(Table):
    cache: Key[str | None, str]
    collective_eager_max: Key[str | None, str]
    complex: Key[int | None, int]
    eager_max: Key[str, str]
    eager_receive_per_kib: Key[str, str]
    eager_send_per_kib: Key[str, str]
    far_latency: Key[str | None, str]
    handling_overhead: Key[str, str]
    latency: Key[str, str]
    profile: Key[Literal["ucx-1.6", "openmpi-4.0"] | None, Literal["ucx-1.6", "openmpi-4.0"]]
    send_overhead: Key[str, str]
    single_copy_overhead: Key[str, str]
    single_copy_per_kib: Key[str, str]

class Shift(Table):
    offset: Key[int, int]

class SingleSwitch(Table):
    as_built: Key[AsBuilt, AsBuilt | Keys]
    cable: Key[str, str]
    hosts: Key[int, int]
    rate: Key[str, str]

class SizePoints(Table):
    file: Key[str | None, str]
    points: Key[Sequence[Any], Sequence[Any]]
    steps: Key[bool | None, bool]
    text: Key[str | None, str]

class SlimFly(Table):
    as_built: Key[AsBuilt, AsBuilt | Keys]
    global_cable: Key[str, str]
    host_cable: Key[str, str]
    hosts_per_switch: Key[int | None, int]
    local_cable: Key[str, str]
    q: Key[int, int]
    rate: Key[str, str]

class SlowLink(Table):
    rate: Key[str | None, str]
    to: Key[str | None, str]

class Stage(Table):
    cable: Key[str, str]
    down: Key[int, int]
    links: Key[int, int]
    rate: Key[str, str]
    up: Key[int, int]

class StagedFatTree(Table):
    as_built: Key[AsBuilt, AsBuilt | Keys]
    host_cable: Key[str, str]
    host_rate: Key[str, str]
    hosts_per_leaf: Key[int, int]
    stages: Key[List[Stage], Sequence[Keys]]

class SweepSpec(Table):
    axis: Key[List[AxisSpec], Sequence[Keys]]
    partition: Key[Sequence[str] | None, Sequence[str]]
    sample: Key[SampleSpec, SampleSpec | Keys]
    scenario: Key[str | None, str]
    seeds: Key[int, int]

class Swift(Table):
    additive_increase: Key[int, int]
    base_target: Key[str, str]
    decrease: Key[int, int]
    decrease_max: Key[int, int]
    flow_scaling: Key[str, str]
    flow_scaling_window_max: Key[int, int]
    flow_scaling_window_min: Key[int, int]
    initial_window: Key[str | None, str]
    timeouts_max: Key[int, int]
    window_min: Key[int, int]

class SwitchParams(Table):
    arbiter: Key[ArbiterName, ArbiterName]
    buffer: Key[str, str]
    cells: Key[Cells, Cells | Keys]
    ecn: Key[EcnMarking, EcnMarking | Keys]
    egress_threshold: Key[Threshold, Threshold | Keys]
    forwarding: Key[ForwardingName, ForwardingName]
    header: Key[str, str]
    headroom: Key[str | None, str]
    ingress_threshold: Key[Threshold, Threshold | Keys]
    latency: Key[str, str]
    learning: Key[AddressLearning, AddressLearning | Keys]
    low_power_idle: Key[LowPowerIdleTimes, LowPowerIdleTimes | Keys]
    model: Key[SwitchModelName, SwitchModelName]
    outer_header: Key[OuterHeader, OuterHeader | Keys]
    output_queue: Key[str, str]
    profile: Key[
        Literal[
            "spectrum",
            "sn2100",
            "sn2700",
            "sn3700",
            "sn4700",
            "sn5600",
            "tomahawk",
            "tomahawk2",
            "tomahawk3",
            "tomahawk4",
            "tomahawk5",
            "trident3",
            "trident4",
            "jericho2",
        ]
        | None,
        Literal[
            "spectrum",
            "sn2100",
            "sn2700",
            "sn3700",
            "sn4700",
            "sn5600",
            "tomahawk",
            "tomahawk2",
            "tomahawk3",
            "tomahawk4",
            "tomahawk5",
            "trident3",
            "trident4",
            "jericho2",
        ],
    ]
    rate_adaptation: Key[EpochRates, EpochRates | Keys]
    reduction: Key[ReductionParams, ReductionParams | Keys]
    reserve: Key[str, str]
    shaper: Key[TokenBucket, TokenBucket | Keys]
    speed_up: Key[int, int]
    threshold_rate: Key[str | None, str]
    trimming: Key[Trimming, Trimming | Keys]
    xon_offset: Key[str, str]

class Switching(Table):
    at: Key[str, str]
    to: Key[Pattern, Pattern | Keys]

class TableParams(Table):
    conditional: Key[ConditionalTables, ConditionalTables | Keys]
    minimal: Key[MinimalTables, MinimalTables | Keys]

class TableProfile(Table):
    exact_entries: Key[int, int]
    ternary_entries: Key[int, int]

class TableRate(Table):
    cable_max: Key[str | None, str]
    rate: Key[str | None, str]

class TablesSpec(Table):
    capacity: Key[TableProfile, TableProfile | Keys]
    compaction: Key[CompactionKindName | None, CompactionKindName]
    group_coordinates: Key[int | None, int]
    peers: Key[int | None, int]
    plan: Key[PlanKindName | None, PlanKindName]
    share_by: Key[SharingName | None, SharingName]
    widths: Key[Sequence[int] | None, Sequence[int]]

class TcpParams(Table):
    congestion_control: Key[CongestionControlName, CongestionControlName]
    delayed_ack: Key[str, str]
    delayed_ack_segments: Key[int, int]
    early_retransmit: Key[bool, bool]
    ecn: Key[bool, bool]
    hystart: Key[bool, bool]
    hystart_clock: Key[str, str]
    initial_window: Key[int, int]
    limit_output: Key[str, str]
    loss_detection: Key[SegmentLossName, SegmentLossName]
    mss: Key[str, str]
    profile: Key[
        Literal["linux-3.10", "linux-4.18", "linux-6.x"] | None,
        Literal["linux-3.10", "linux-4.18", "linux-6.x"],
    ]
    quick_acks: Key[int, int]
    receive_buffer: Key[str, str]
    receive_buffer_initial: Key[str, str]
    rto_initial: Key[str, str]
    rto_max: Key[str, str]
    rto_min: Key[str, str]
    sack: Key[bool, bool]
    send_buffer: Key[str, str]
    slow_start_after_idle: Key[bool, bool]
    tail_loss_probe: Key[bool, bool]
    tail_loss_probe_min: Key[str, str]

class Threshold(Table):
    alpha: Key[float | None, float]
    static: Key[str | None, str]

class ThrottleParams(Table):
    interval_min: Key[str, str]

class Timely(Table):
    additive_increase: Key[str, str]
    decrease: Key[int, int]
    high: Key[str, str]
    hyper_after: Key[int, int]
    low: Key[str, str]
    rate_min: Key[int, int]
    round_trip_min: Key[str, str]
    segment: Key[str, str]
    weight: Key[int, int]

class TokenBucket(Table):
    burst: Key[str | None, str]
    rate: Key[str | None, str]

class TokenCounts(Table):
    fixed: Key[int | None, int]
    uniform: Key[TokenCountsUniform, TokenCountsUniform | Keys]
    exponential: Key[TokenCountsExponential, TokenCountsExponential | Keys]

class TokenCountsExponential(Table):
    max: Key[int | None, int]
    mean: Key[int | None, int]

class TokenCountsUniform(Table):
    max: Key[int | None, int]
    min: Key[int | None, int]

class TopologyKind(Table):
    single_switch: Key[SingleSwitch, SingleSwitch | Keys]
    fat_tree: Key[FatTree, FatTree | Keys]
    k_ary_fat_tree: Key[KAryFatTree, KAryFatTree | Keys]
    staged_fat_tree: Key[StagedFatTree, StagedFatTree | Keys]
    folded_clos: Key[FoldedClos, FoldedClos | Keys]
    rail_optimised: Key[RailOptimised, RailOptimised | Keys]
    flattened_butterfly: Key[FlattenedButterfly, FlattenedButterfly | Keys]
    hyperx: Key[HyperX, HyperX | Keys]
    dragonfly: Key[Dragonfly, Dragonfly | Keys]
    dragonfly_plus: Key[DragonflyPlus, DragonflyPlus | Keys]
    slim_fly: Key[SlimFly, SlimFly | Keys]
    torus: Key[Torus, Torus | Keys]
    mesh: Key[Mesh, Mesh | Keys]
    custom: Key[Custom, Custom | Keys]

class Tornado(Table):
    extents: Key[Sequence[int], Sequence[int]]

class Torus(Table):
    as_built: Key[AsBuilt, AsBuilt | Keys]
    dimensions: Key[List[Dimension], Sequence[Keys]]
    host_cable: Key[str, str]
    host_rate: Key[str, str]
    hosts_per_switch: Key[int, int]

class Training(Table):
    accelerator: Key[Accelerator, Accelerator | Keys]
    adapters: Key[int | None, int]
    batch: Key[int, int]
    element_bytes: Key[int, int]
    gradient_bytes: Key[int, int]
    iterations: Key[int, int]
    library: Key[LibraryName, LibraryName]
    micro_batch: Key[int, int]
    micro_batches: Key[int | None, int]
    model: Key[Transformer, Transformer | Keys]
    network_rate: Key[str, str]
    node: Key[AcceleratorNode, AcceleratorNode | Keys]
    parallel: Key[Parallelism, Parallelism | Keys]
    parameter_bytes: Key[int | None, int]
    per_teraflop: Key[str, str]
    ranks: Key[int, int]
    recompute: Key[bool, bool]
    rounds: Key[int | None, int]

class Transformer(Table):
    experts: Key[int, int]
    experts_per_token: Key[int, int]
    feed_forward: Key[int, int]
    hidden: Key[int, int]
    is_gated: Key[bool, bool]
    is_tied: Key[bool, bool]
    key_value: Key[int, int]
    layers: Key[int, int]
    sequence: Key[int, int]
    vocabulary: Key[int, int]

class TransmitParams(Table):
    moderation: Key[Moderation, Moderation | Keys]
    timer: Key[ModerationTimerName, ModerationTimerName]

class Transport(Table):
    roce: Key[RoceParams, RoceParams | Keys]
    uet: Key[UetParams, UetParams | Keys]
    tcp: Key[TcpParams, TcpParams | Keys]

class Transpose(Table):
    rows: Key[int | None, int]

class Trigger(Table):
    congestion: Key[TriggerCongestion, TriggerCongestion | Keys]
    notification: Key[Notification, Notification | Keys]

class TriggerCongestion(Table):
    packets: Key[int | None, int]

class Trimming(Table):
    code_point: Key[int | None, int]
    last_hop_code_point: Key[int | None, int]
    priority: Key[int, int]
    queue: Key[int | None, int]
    size: Key[str, str]

class UetFrames(Table):
    fixed: Key[FixedFrames, FixedFrames | Keys]

class UetParams(Table):
    ack_packet_min: Key[str, str]
    ack_trigger: Key[str, str]
    control_priority: Key[int | None, int]
    delivery: Key[DeliveryName, DeliveryName]
    entropies: Key[int, int]
    frames: Key[UetFrames, UetFrames | Keys | UetFramesName]
    load_balancer: Key[LoadBalancer, LoadBalancer | Keys]
    load_balancing: Key[LoadBalancingName, LoadBalancingName]
    nscc: Key[Nscc, Nscc | Keys]
    payload_mtu: Key[str, str]
    psn_range: Key[int, int]
    rccc: Key[Rccc, Rccc | Keys]
    reordering_packets: Key[int | None, int]
    retransmission_timeout: Key[str, str]
    timeout_doublings_max: Key[int, int]

class UgalParams(Table):
    threshold: Key[int, int]

class Uplinks(Table):
    cable: Key[str, str]
    lag: Key[int, int]
    ports: Key[int | None, int]
    rate: Key[str, str]

class Workload(Table):
    halo3d: Key[Halo3d, Halo3d | Keys]
    fft: Key[Fft, Fft | Keys]
    npb_cg: Key[NpbCg, NpbCg | Keys]
    npb: Key[Npb, Npb | Keys]
    openfoam: Key[Openfoam, Openfoam | Keys]
    hpcc_ring: Key[HpccRing, HpccRing | Keys]
    hpcc_ptrans: Key[HpccPtrans, HpccPtrans | Keys]
    hpcc_mpifft: Key[HpccMpifft, HpccMpifft | Keys]
    hpcc_random_access: Key[HpccRandomAccess, HpccRandomAccess | Keys]
    hpcc_fft: Key[HpccFft, HpccFft | Keys]
    hpl: Key[Hpl, Hpl | Keys]
    gpcnet: Key[Gpcnet, Gpcnet | Keys]
    gpcnet_congestor: Key[GpcnetCongestor, GpcnetCongestor | Keys]
    nccl_tests: Key[NcclTests, NcclTests | Keys]
    training: Key[Training, Training | Keys]
    moe: Key[Moe, Moe | Keys]
    inference: Key[Inference, Inference | Keys]
    checkpoint: Key[Checkpoint, Checkpoint | Keys]
    chakra: Key[Chakra, Chakra | Keys]
    goal: Key[Goal, Goal | Keys]
    osu_latency: Key[OsuLatency, OsuLatency | Keys]
    osu_bw: Key[OsuBw, OsuBw | Keys]
    osu_bibw: Key[OsuBibw, OsuBibw | Keys]
    osu_one_sided_latency: Key[OsuOneSidedLatency, OsuOneSidedLatency | Keys]
    osu_one_sided_bw: Key[OsuOneSidedBw, OsuOneSidedBw | Keys]
    imb: Key[Imb, Imb | Keys]
    osu_collective: Key[OsuCollective, OsuCollective | Keys]
    all_to_all: Key[AllToAll, AllToAll | Keys]
    permutation: Key[Permutation, Permutation | Keys]
    incast: Key[Incast, Incast | Keys]
    flows: Key[Flows, Flows | Keys]
    permutation_streams: Key[PermutationStreams, PermutationStreams | Keys]
    request_response: Key[RequestResponse, RequestResponse | Keys]
    driver: Key[Driven, Driven | Keys]

class ScenarioKeys:
    control: Key[ControlSpec, ControlSpec | Keys]
    controller: Key[MeasurementParams, MeasurementParams | Keys]
    design: Key[DesignSpec, DesignSpec | Keys]
    ets: Key[Ets, Ets | Keys]
    faults: Key[FaultsSpec, FaultsSpec | Keys]
    fec: Key[ClassCodes, ClassCodes | Keys]
    flow_control: Key[FlowControl, FlowControl | Keys]
    host: Key[HostParams, HostParams | Keys]
    host_ports: Key[HostPortsSpec, HostPortsSpec | Keys]
    interconnect: Key[InterconnectSpec, InterconnectSpec | Keys]
    job: Key[List[JobSpec], Sequence[Keys]]
    name: Key[str, str]
    nic: Key[NicParams, NicParams | Keys]
    observe: Key[ObserveSpec, ObserveSpec | Keys]
    open_loop: Key[OpenLoopSpec, OpenLoopSpec | Keys]
    port_choice: Key[PortChooser, PortChooser | Keys]
    routing: Key[RoutingKind, RoutingKind | Keys | RoutingKindName]
    run: Key[RunSpec, RunSpec | Keys]
    seed: Key[int, int]
    selection: Key[SelectionKind, SelectionKind | Keys]
    sweep: Key[SweepSpec, SweepSpec | Keys]
    switch: Key[SwitchParams, SwitchParams | Keys]
    topology: Key[TopologyKind, TopologyKind | Keys]
    transport: Key[Transport, Transport | Keys]
