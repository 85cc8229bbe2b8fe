//! MPI: a rank performs its program; messages go eagerly or by rendezvous. Between ranks of a host: `shared_memory.rs`.
//!
//! ```text
//!   eager        sender ── header+payload ─────────────────────────► receiver
//!   rendezvous   sender ── request to send ────────────────────────► receiver (matches)
//!     RoCE       sender's NIC ◄── read request ── receiver's NIC
//!                sender's NIC ── payload ─────────────────────────► receiver's NIC (complete)
//!                sender ◄── finished ── receiver
//!     TCP        sender ◄── clear to send ── receiver;   sender ── payload ──► receiver
//!     windows    see `windows.rs`
//! ```

use etherweave_engine::{Wires, constants::RunConstants, event::PrefetchHint};
use etherweave_kernel::indices::{EndpointIndex, ThreadIndex};
use etherweave_primitives::{Bytes, Time};
use etherweave_transport::roce::Operation;
use etherweave_workload::{Op, collective::SumRole};

use super::costs::{EagerLimits, is_free, op_cost};
use super::graph_state::{MessageId, Request, RequestPart};
use super::matching::{Envelope, Receive, Unexpected};
use super::thread::{Role, Task, Thread};
use super::windows::WindowStep;
use super::{
    activity_kind::ActivityKind, message::Message, message::MessageKind, rank::RankState, rank_records::EndRecord,
    shared_memory::Neighbour,
};
use crate::{Hosts, Nics, Processors};

/// Bytes of a READ request in the requester's stream: its RETH.
pub(super) const READ_REQUEST: u64 = 16;

/// Request of a ready receiver for the payload of a rendezvous: its kind and length. NICs with remote access read the
/// payload by themselves, unless it comes in windows.
fn rendezvous_request(constants: &RunConstants, job: u32) -> (MessageKind, u64) {
    let mpi = constants.mpi(job);
    match constants.transport(job).has_remote_access() && mpi.rendezvous_window.is_none() {
        true => (MessageKind::ReadRequest, READ_REQUEST),
        false => (MessageKind::ClearToSend, mpi.header.get()),
    }
}

/// How a message goes over the wire of RoCE, with the share of its rank in a sum of switches.
pub(super) fn operation(kind: MessageKind, role: SumRole) -> Operation {
    match kind {
        MessageKind::ReadRequest | MessageKind::GetRequest => Operation::ReadRequest,
        MessageKind::ReadResponse | MessageKind::GetResponse => Operation::ReadResponse,
        MessageKind::AtomicRequest => Operation::AtomicRequest,
        MessageKind::AtomicResponse => Operation::AtomicResponse,
        _ => match role {
            SumRole::Both => Operation::Write,
            SumRole::Listens => Operation::SumListen,
            SumRole::Gives => Operation::SumGive,
        },
    }
}

/// A message is much longer than another from so many lengths of that on.
const BEHIND_LENGTHS: u64 = 8;
/// And from so much on [B].
const BEHIND_MIN: u64 = 64 << 10;

impl Processors {
    pub(super) fn rank(&mut self, thread: ThreadIndex) -> &mut RankState {
        match &mut self.threads[thread].role {
            Role::Rank(rank) => rank,
            Role::GraphStream(_) | Role::Source(_) | Role::Sink(_) => unreachable!("only ranks run programs"),
        }
    }

    pub(super) fn rank_done(&mut self, wires: &mut Wires, thread: ThreadIndex) {
        let now = wires.now;
        self.rank(thread).is_done = true;
        if self.observes_ranks {
            self.records.ended.push((thread, now));
        }
        if !wires.constants.is_background[self.threads[thread].job as usize] {
            wires.count_end();
        }
    }

    /// One outstanding request less.
    pub(super) fn request_complete(&mut self, thread: ThreadIndex, request: Request, now: Time) {
        let rank = self.rank(thread);
        match &mut rank.graph {
            Some(graph) => graph.request_complete(request, now),
            None => rank.request_complete(),
        }
    }

    /// Whether what a thread knows as an endpoint is a connection over a socket, and no neighbour.
    pub(super) fn is_socket(&self, wires: &Wires, thread: ThreadIndex, endpoint: EndpointIndex) -> bool {
        Neighbour::of(endpoint).is_none() && wires.constants.is_in_kernel(self.threads[thread].job)
    }

    /// Whether a message has been read from a socket and not been handled: a library handles all that it has read
    /// before its wait returns, and so answers requests of a peer that is a step ahead before it sends its own.
    pub(super) fn has_read(&self, wires: &Wires, thread: ThreadIndex) -> bool {
        match self.threads[thread].inbox.front() {
            Some(Task::Handle(endpoint, _)) => self.is_socket(wires, thread, *endpoint),
            _ => false,
        }
    }

    fn begin_step(&mut self, wires: &mut Wires, thread: ThreadIndex, op: Op) {
        self.observe_next(ActivityKind::of(op));
        self.observe_operation(thread, op, wires.now);
        let sent = self.rank(thread).fragments_sent;
        let (endpoint, sends) = match op {
            Op::Isend { peer, .. } | Op::OneSided { peer, .. } => {
                (self.rank(thread).connection_to(peer.get(), op.tag().unwrap_or(0), sent), true)
            }
            Op::Irecv { peer, .. } => (self.rank(thread).endpoint_of(peer.get()), false),
            _ => (EndpointIndex::new(0), false),
        };
        let cost = op_cost(&wires.constants, self.threads[thread].job, endpoint, op, sent);
        let hint = match Neighbour::of(endpoint) {
            Some(_) => PrefetchHint::default(),
            None => PrefetchHint::endpoint(endpoint, sends),
        };
        self.begin(wires, thread, Task::Step(endpoint), cost, hint);
    }

    fn iteration_end(&mut self, wires: &Wires, thread: ThreadIndex) {
        let &Thread { job, host_id, .. } = &self.threads[thread];
        self.rank(thread).end_iteration(wires.now, job, host_id);
    }
}

impl Hosts {
    /// Continues an idle rank: with its operations in order; inside a wait, with its inbox.
    pub(super) fn rank_next(&mut self, wires: &mut Wires, thread: ThreadIndex) {
        let (now, job) = (wires.now, self.processors.threads[thread].job);
        loop {
            let rank = self.processors.rank(thread);
            if !rank.is_started {
                return;
            }
            let op = rank.op();
            match op {
                None if rank.graph.is_some() => return self.graph_next(wires, thread),
                None => return self.program_done(wires, thread),
                Some(Op::WaitAll) if rank.outstanding > 0 => return self.inbox_next(wires, thread),
                Some(Op::WaitAll) => {
                    if self.processors.has_read(wires, thread) {
                        return self.inbox_next(wires, thread);
                    }
                    self.processors.rank(thread).advance(now);
                }
                Some(op @ (Op::Prepare { .. } | Op::Reduce { .. })) if is_free(&wires.constants, job, op) => {
                    self.processors.rank(thread).advance(now);
                }
                Some(op @ Op::IterationStart) => {
                    rank.begin_iteration(now);
                    self.processors.observe_operation(thread, op, now);
                }
                Some(op @ Op::IterationEnd) => {
                    self.processors.iteration_end(wires, thread);
                    self.processors.observe_operation(thread, op, now);
                }
                Some(op @ Op::Sleep { duration }) => {
                    self.processors.observe_operation(thread, op, now);
                    self.processors.observe_next(Some(ActivityKind::Sleep));
                    return self.processors.sleep(wires, thread, duration + wires.constants.params.host.timer_slack);
                }
                Some(Op::Poll { times }) => {
                    let duration = wires.constants.mpi(job).poll_time(rank.connections()) * u64::from(times);
                    if !duration.is_zero() {
                        return self.processors.begin_step(wires, thread, Op::Compute { duration });
                    }
                    self.processors.rank(thread).advance(now);
                }
                Some(Op::Compute { duration }) => {
                    let duration = duration + rank.interruptions(duration);
                    return self.processors.begin_step(wires, thread, Op::Compute { duration });
                }
                Some(op) => return self.processors.begin_step(wires, thread, op),
            }
        }
    }

    /// The program has ended. What has been sent may still wait for room in a socket, as in `MPI_Finalize`, and others
    /// may reach into its memory until all free their windows.
    fn program_done(&mut self, wires: &mut Wires, thread: ThreadIndex) {
        if !self.processors.rank(thread).is_done {
            self.processors.rank_done(wires, thread);
        }
        self.inbox_next(wires, thread);
    }

    /// The present operation has taken its time: its effect.
    pub(super) fn step_done(&mut self, wires: &mut Wires, thread: ThreadIndex, endpoint: EndpointIndex) {
        let rank_thread = self.processors.rank_thread(thread);
        let rank = self.processors.rank(rank_thread);
        let (Some(op), sent) = (rank.op(), rank.fragments_sent) else {
            return self.graph_step_done(wires, rank_thread, thread, endpoint);
        };
        if let Op::Isend { tag, bytes, .. } = op
            && let Some(piece) = self.send_fragment(wires, endpoint, tag, bytes, sent)
        {
            self.processors.rank(thread).fragments_sent += piece;
            return;
        }
        let rank = self.processors.rank(thread);
        rank.advance(wires.now);
        match op {
            Op::Isend { tag, bytes, .. } => {
                rank.fragments_sent = 0;
                let open = self.isend(wires, thread, endpoint, tag, bytes, sent);
                self.processors.rank(thread).outstanding += u32::from(open.is_some());
            }
            Op::Irecv { tag, .. } => {
                rank.outstanding += 1;
                self.irecv(wires, thread, Envelope { endpoint, tag }, 0);
            }
            Op::OneSided { access, bytes, .. } => self.one_sided(wires, thread, endpoint, access, bytes),
            Op::Copy { .. }
            | Op::Prepare { .. }
            | Op::Reduce { .. }
            | Op::Poll { .. }
            | Op::Compute { .. }
            | Op::Sleep { .. }
            | Op::WaitAll
            | Op::IterationStart
            | Op::IterationEnd => {}
        }
    }

    /// Sends a fragment of an eager message, of which so much has been sent, if others follow it; gives its length.
    pub(super) fn send_fragment(
        &mut self,
        wires: &mut Wires,
        endpoint: EndpointIndex,
        tag: u32,
        bytes: u64,
        sent: u64,
    ) -> Option<u64> {
        if Neighbour::of(endpoint).is_some() {
            return None;
        }
        let mpi = wires.constants.mpi(self.job_of(endpoint));
        let (header, piece) = (mpi.header.get(), mpi.piece(bytes, sent));
        if !EagerLimits::of_mpi(mpi).admit(tag, bytes) || sent + piece == bytes {
            return None;
        }
        let message = self.nics.numbered(endpoint, Message::new(MessageKind::Fragment, tag, piece));
        self.post_message(wires, endpoint, message, header + piece);
        Some(piece)
    }

    /// Sends a message of which so much has been sent in fragments; gives its number if the request stays open.
    pub(super) fn isend(
        &mut self,
        wires: &mut Wires,
        thread: ThreadIndex,
        endpoint: EndpointIndex,
        tag: u32,
        bytes: u64,
        sent: u64,
    ) -> Option<u16> {
        let mpi = wires.constants.mpi(self.processors.threads[thread].job);
        let header = mpi.header.get();
        let limits = match Neighbour::of(endpoint) {
            Some(_) => EagerLimits::of_shared_memory(&wires.constants.params.host.shared_memory),
            None => EagerLimits::of_mpi(mpi),
        };
        let is_eager = limits.admit(tag, bytes) || self.nics.is_tree(endpoint);
        let (now, first) = (wires.now, self.nics.first_to_peer(endpoint));
        self.processors.observe_sent(EndRecord { at: now, bytes, tag, thread, endpoint: first });
        self.nics.count_message(wires, endpoint, bytes);
        // Buffered: the request is complete once the bytes are handed over.
        let (kind, length) = match is_eager {
            true => (MessageKind::Eager, header + bytes - sent),
            false => (MessageKind::RequestToSend, header),
        };
        let message = self.nics.numbered(endpoint, Message::new(kind, tag, bytes));
        self.send_message(wires, thread, endpoint, message, length);
        (!is_eager).then_some(message.number)
    }

    /// Posts a receive, which belongs to an operation of a graph or is one of a sequence.
    pub(super) fn irecv(&mut self, wires: &mut Wires, thread: ThreadIndex, envelope: Envelope, node: u32) {
        if let Some(message) = self.processors.rank(thread).matching.post(Receive { envelope, node }) {
            self.matched(wires, thread, message, node);
        }
    }

    /// A message has found its receive.
    fn matched(&mut self, wires: &mut Wires, thread: ThreadIndex, message: Unexpected, node: u32) {
        let (Envelope { endpoint: first, tag }, endpoint) = (message.envelope, message.connection);
        let now = wires.now;
        if !message.is_rendezvous {
            let bytes = message.bytes;
            self.processors.observe_received(EndRecord { at: now, bytes, tag, thread, endpoint: first });
        }
        let rank = self.processors.rank(thread);
        match &mut rank.graph {
            Some(graph) if message.is_rendezvous => {
                let part = RequestPart::Receive(MessageId { tag, number: message.number });
                graph.open(Request { endpoint, part }, node);
            }
            Some(graph) => return graph.complete(node, now),
            None if message.is_rendezvous => {}
            None => return rank.request_complete(),
        }
        if Neighbour::of(endpoint).is_some() {
            let copy = Message::new(MessageKind::ReadResponse, tag, message.bytes);
            return self.processors.threads[thread].inbox.push_back(Task::Handle(endpoint, copy));
        }
        let job = self.job_of(endpoint);
        let (kind, length) = rendezvous_request(&wires.constants, job);
        let id = MessageId { tag, number: message.number };
        let bytes = match wires.constants.mpi(job).rendezvous_window {
            Some(window) => self.processors.rank(thread).windowed.begin((endpoint, id), message.bytes, window.get()),
            None => message.bytes,
        };
        let request = Message { number: message.number, ..Message::new(kind, tag, bytes) };
        self.post_message(wires, endpoint, request, length);
    }

    /// Sends a message of `length` bytes in all to a peer: by a connection, or to a neighbour.
    fn send_message(
        &mut self,
        wires: &mut Wires,
        thread: ThreadIndex,
        endpoint: EndpointIndex,
        message: Message,
        length: u64,
    ) {
        match Neighbour::of(endpoint) {
            Some(neighbour) => self.processors.share_message(wires, thread, neighbour, message),
            None => _ = self.post_message(wires, endpoint, message, length),
        }
    }

    /// Puts a message of `length` bytes into a connection's stream; gives where it ends, and announces that: of an
    /// answer which later messages may go before, when it has been sent.
    pub(super) fn post_message(
        &mut self,
        wires: &mut Wires,
        endpoint: EndpointIndex,
        message: Message,
        length: u64,
    ) -> u64 {
        let own = &self.nics.endpoints[endpoint];
        if operation(message.kind, SumRole::Both).is_answer() && self.nics.state(endpoint).moves_answers() {
            let row = self.processors.observe_posted(own.thread, endpoint, (0, length, message.tag), wires.now);
            self.nics.expect_answer(endpoint, message, row);
            return self.post_bytes(wires, endpoint, message.kind, message.tag, length);
        }
        let end = self.post_bytes(wires, endpoint, message.kind, message.tag, length);
        let own = &self.nics.endpoints[endpoint];
        if self.nics.state(endpoint).unwritten() == 0 {
            self.processors.observe_posted(own.thread, endpoint, (end, length, message.tag), wires.now);
        }
        self.nics.announce_to_peer(wires, endpoint, Message { end, ..message });
        end
    }

    /// All bytes of a message have come. What the NIC does by itself happens at once; the rest waits for the thread.
    pub(super) fn deliver(&mut self, wires: &mut Wires, endpoint: EndpointIndex, message: Message) {
        let thread = self.nics.endpoints[endpoint].thread;
        let is_answered = message.kind.is_request() || self.is_matched_by_nic(wires, thread, message.kind);
        if !self.processors.observes_ranks || !is_answered {
            return self.deliver_to(wires, thread, endpoint, message);
        }
        self.processors.records.answered = Some(message.end);
        self.deliver_to(wires, thread, endpoint, message);
        self.processors.records.answered = None;
    }

    /// Whether the NIC of a rank finds the receive of such a message.
    fn is_matched_by_nic(&self, wires: &Wires, thread: ThreadIndex, kind: MessageKind) -> bool {
        kind == MessageKind::RequestToSend && wires.constants.mpi(self.processors.threads[thread].job).matched_by_nic
    }

    fn deliver_to(&mut self, wires: &mut Wires, thread: ThreadIndex, endpoint: EndpointIndex, message: Message) {
        match message.kind {
            MessageKind::ReadRequest => {
                self.post_message(wires, endpoint, message.answer(MessageKind::ReadResponse), message.bytes);
            }
            MessageKind::RequestToSend if self.is_matched_by_nic(wires, thread, message.kind) => {
                self.match_in_order(wires, thread, endpoint, message);
            }
            MessageKind::Put | MessageKind::GetRequest | MessageKind::AtomicRequest
                if wires.constants.transport(self.job_of(endpoint)).has_remote_access() =>
            {
                self.answer_access(wires, endpoint, message);
            }
            MessageKind::Eager
            | MessageKind::Fragment
            | MessageKind::RequestToSend
            | MessageKind::ReadResponse
            | MessageKind::Finished
            | MessageKind::ClearToSend
            | MessageKind::Payload
            | MessageKind::Put
            | MessageKind::GetRequest
            | MessageKind::GetResponse
            | MessageKind::AtomicRequest
            | MessageKind::AtomicResponse
            | MessageKind::Done => self.take_message(wires, thread, endpoint, message),
        }
    }

    /// Has the thread handle a message.
    pub(super) fn take_message(
        &mut self,
        wires: &mut Wires,
        thread: ThreadIndex,
        endpoint: EndpointIndex,
        message: Message,
    ) {
        self.assign(wires, thread, Task::Handle(endpoint, message));
    }

    pub(super) fn handle_message(
        &mut self,
        wires: &mut Wires,
        thread: ThreadIndex,
        endpoint: EndpointIndex,
        message: Message,
    ) {
        let mpi = wires.constants.mpi(self.processors.threads[thread].job);
        let (header, is_windowed) = (mpi.header.get(), mpi.rendezvous_window.is_some());
        let first = self.nics.first_to_peer(endpoint);
        let Message { kind, tag, bytes, number, .. } = message;
        let id = MessageId { tag, number };
        match kind {
            MessageKind::Eager | MessageKind::RequestToSend | MessageKind::Fragment => {
                self.match_in_order(wires, thread, endpoint, message);
            }
            MessageKind::ReadResponse => self.payload_complete(wires, thread, endpoint, message),
            MessageKind::Finished => {
                self.processors.request_complete(thread, Request { endpoint, part: RequestPart::Send(id) }, wires.now);
            }
            MessageKind::Payload if is_windowed => self.piece_copied(wires, thread, endpoint, message),
            MessageKind::Payload => {
                self.processors.observe_received(EndRecord { at: wires.now, bytes, tag, thread, endpoint: first });
                self.processors.request_complete(
                    thread,
                    Request { endpoint, part: RequestPart::Receive(id) },
                    wires.now,
                );
            }
            MessageKind::ClearToSend if is_windowed => self.send_window(wires, endpoint, message),
            MessageKind::ClearToSend => {
                if let Some(graph) = &mut self.processors.rank(thread).graph {
                    graph.granted(endpoint, id);
                }
                self.post_message(wires, endpoint, message.answer(MessageKind::Payload), header + bytes);
            }
            MessageKind::Put | MessageKind::GetRequest | MessageKind::AtomicRequest => {
                self.answer_access(wires, endpoint, message);
            }
            MessageKind::GetResponse | MessageKind::AtomicResponse | MessageKind::Done => {
                self.access_answered(wires, thread, endpoint, message);
            }
            MessageKind::ReadRequest => unreachable!("the NIC answers read requests"),
        }
    }

    /// The payload of a rendezvous is there: the receive is complete.
    fn payload_complete(&mut self, wires: &mut Wires, thread: ThreadIndex, endpoint: EndpointIndex, message: Message) {
        let Message { tag, bytes, number, .. } = message;
        let first = self.nics.first_to_peer(endpoint);
        self.processors.observe_received(EndRecord { at: wires.now, bytes, tag, thread, endpoint: first });
        let part = RequestPart::Receive(MessageId { tag, number });
        self.processors.request_complete(thread, Request { endpoint, part }, wires.now);
        let finished = Message { bytes: 0, ..message.answer(MessageKind::Finished) };
        let header = wires.constants.mpi(self.processors.threads[thread].job).header.get();
        self.send_message(wires, thread, endpoint, finished, header);
    }

    /// Sends the pieces of a window that is cleared, from where they lie.
    fn send_window(&mut self, wires: &mut Wires, endpoint: EndpointIndex, cleared: Message) {
        let mut sent = 0;
        while sent < cleared.bytes {
            let mpi = wires.constants.mpi(self.job_of(endpoint));
            let (header, bytes) = (mpi.header.get(), mpi.piece(cleared.bytes, sent));
            let piece = Message { bytes, ..cleared.answer(MessageKind::Payload) };
            self.post_message(wires, endpoint, piece, header + bytes);
            sent += bytes;
        }
    }

    /// A piece of a window has been copied: behind the last the next window is cleared, or the message is complete.
    fn piece_copied(&mut self, wires: &mut Wires, thread: ThreadIndex, endpoint: EndpointIndex, piece: Message) {
        let mpi = wires.constants.mpi(self.processors.threads[thread].job);
        let (header, window) = (mpi.header.get(), mpi.rendezvous_window.map_or(u64::MAX, Bytes::get));
        let id = MessageId { tag: piece.tag, number: piece.number };
        match self.processors.rank(thread).windowed.take((endpoint, id), piece.bytes, window) {
            WindowStep::Wait => {}
            WindowStep::Clear(bytes) => {
                let clear = Message { bytes, ..piece.answer(MessageKind::ClearToSend) };
                self.post_message(wires, endpoint, clear, header);
            }
            WindowStep::Complete(bytes) => {
                self.payload_complete(wires, thread, endpoint, Message { bytes, ..piece });
            }
        }
    }

    /// Messages of a connection match in the order in which they were sent: one that has overtaken others waits for
    /// them. Those within a host keep their order.
    fn match_in_order(
        &mut self,
        wires: &mut Wires,
        thread: ThreadIndex,
        endpoint: EndpointIndex,
        mut message: Message,
    ) {
        if Neighbour::of(endpoint).is_some() {
            return self.match_message(wires, thread, endpoint, message);
        }
        if message.number != self.nics.endpoints[endpoint].numbers.matched {
            return self.processors.rank(thread).early.get_or_insert_default().keep(endpoint, message);
        }
        loop {
            self.match_message(wires, thread, endpoint, message);
            let next = &mut self.nics.endpoints[endpoint].numbers.matched;
            *next = next.wrapping_add(1);
            let early = self.processors.rank(thread).early.as_mut();
            message = match early.and_then(|early| early.take(endpoint, *next)) {
                Some(message) => message,
                None => return,
            };
        }
    }

    /// A message that has arrived takes the earliest receive that matches. A fragment is copied; the last completes the
    /// message.
    fn match_message(&mut self, wires: &mut Wires, thread: ThreadIndex, endpoint: EndpointIndex, message: Message) {
        let Message { kind, tag, bytes, number, .. } = message;
        if kind == MessageKind::Fragment {
            return;
        }
        let envelope = Envelope { endpoint: self.nics.first_to_peer(endpoint), tag };
        let is_rendezvous = kind == MessageKind::RequestToSend;
        let arrived = Unexpected { envelope, connection: endpoint, bytes, number, is_rendezvous };
        if let Some(node) = self.processors.rank(thread).matching.arrive(arrived) {
            self.matched(wires, thread, arrived, node);
        }
    }
}

impl Nics {
    /// A message with the next number of its connection; within a host there are no numbers.
    fn numbered(&mut self, endpoint: EndpointIndex, message: Message) -> Message {
        if Neighbour::of(endpoint).is_some() {
            return message;
        }
        let next = &mut self.endpoints[endpoint].numbers.sent;
        let number = *next;
        *next = next.wrapping_add(1);
        Message { number, ..message }
    }

    /// The first connection to the peer of an endpoint, by which ranks know the peer.
    #[inline]
    pub(super) fn first_to_peer(&self, endpoint: EndpointIndex) -> EndpointIndex {
        match Neighbour::of(endpoint) {
            Some(_) => endpoint,
            None => EndpointIndex::new(endpoint.get() - u32::from(self.endpoints[endpoint].behind_first)),
        }
    }

    /// Whether it is an end of a rank's connection to itself, by an aggregation tree: nobody is there to grant a
    /// message.
    pub(super) fn is_tree(&self, endpoint: EndpointIndex) -> bool {
        Neighbour::of(endpoint).is_none() && self.endpoints[endpoint].hosts.0 == self.endpoints[endpoint].hosts.1
    }

    /// The share of a rank in a sum of switches, of a message with a tag; tags of other messages say nothing of it.
    pub(super) fn sum_role(&self, endpoint: EndpointIndex, tag: u32) -> SumRole {
        if self.is_tree(endpoint) { SumRole::of(tag) } else { SumRole::Both }
    }

    /// Counts a message to another host, and whether it waits behind a much longer one.
    fn count_message(&mut self, wires: &mut Wires, endpoint: EndpointIndex, bytes: u64) {
        if Neighbour::of(endpoint).is_some() {
            return;
        }
        wires.totals.posted += 1;
        let Some(longest) = self.state(endpoint).longest_message() else { return };
        wires.totals.messages += 1;
        wires.totals.messages_behind += u64::from(longest >= BEHIND_MIN.max(BEHIND_LENGTHS * bytes));
    }
}

impl Processors {
    /// Measured iterations of all ranks here: done, in all, and most of a rank.
    pub fn iterations(&self) -> (u64, u64, u64) {
        let ranks = self.threads.iter().filter_map(|thread| match &thread.role {
            Role::Rank(rank) => Some(rank.iterations()),
            Role::GraphStream(_) | Role::Source(_) | Role::Sink(_) => None,
        });
        ranks.fold((0, 0, 0), |(done, all, most), (more, total)| (done + more, all + total, most.max(total)))
    }

    /// Measured iterations that may be skipped, once so many repetitions of present loops are over.
    pub fn skippable(&self, repetitions: u32) -> u64 {
        let ranks = self.threads.iter().map(|thread| match &thread.role {
            Role::Rank(rank) if !rank.is_done => rank.skippable(repetitions),
            Role::Rank(_) | Role::GraphStream(_) | Role::Source(_) | Role::Sink(_) => 0,
        });
        ranks.sum()
    }
}
