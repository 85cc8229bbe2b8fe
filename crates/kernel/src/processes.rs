//! Workers that are processes of an MPI job: remote events of a window go to all others at once.

use crate::{Agreement, Exchange, Outbox, Wire, Worker, mpi::Library};

/// The processes that carry a run together: this one alone, or those of an MPI job.
///
/// Every process calls the same methods in the same order; each waits for all others. Only the thread that joined may
/// call them.
pub struct Processes {
    library: Option<Library>,
    worker: Worker,
}

impl Processes {
    /// This process alone.
    pub const ALONE: Processes = Processes { library: None, worker: Worker::ALONE };

    /// All processes that one launcher started; none if this build has no MPI library, or after the first call.
    pub fn join() -> Option<Processes> {
        let library = Library::initialize()?;
        let worker = library.worker();
        Some(Processes { library: Some(library), worker })
    }

    /// Returns the number of this process among them.
    pub fn worker(&self) -> Worker {
        self.worker
    }

    /// Whether an MPI library connects them, be it one process only.
    pub fn is_joined(&self) -> bool {
        self.library.is_some()
    }

    /// Whether there are others.
    pub fn are_several(&self) -> bool {
        self.worker.of > 1
    }

    /// One value from every process, in their order, to all.
    pub fn share<T: Wire>(&self, own: T) -> Vec<T> {
        self.collect(own, self.worker.of)
    }

    /// One value from every process, in their order, to the first; the others get none.
    pub fn gather<T: Wire>(&self, own: T) -> Vec<T> {
        self.collect(own, 1)
    }

    /// Collects one value from every process at so many processes.
    fn collect<T: Wire>(&self, own: T, receivers: usize) -> Vec<T> {
        let Some(library) = &self.library else { return vec![own] };
        let mut message = Vec::new();
        own.write(&mut message);
        let is_receiver = |number: usize| i32::from(number < receivers);
        let sent: Vec<i32> = (0..self.worker.of).map(|to| count(message.len()) * is_receiver(to)).collect();
        let lengths: Vec<u32> = sent.iter().map(|&length| length as u32).collect();
        let mut received = vec![0; lengths.len()];
        library.all_to_all(&lengths, &mut received);
        let received: Vec<i32> = received.into_iter().map(|length| length as i32).collect();
        let mut words = vec![0; received.iter().map(|&length| length as usize).sum()];
        library.all_to_all_of((&message.repeat(receivers), &sent), (&mut words, &received));
        let mut words = &words[..];
        let senders = received.iter().filter(|&&length| length > 0);
        senders.map(|_| T::read(&mut words)).collect()
    }

    /// This process's end of an exchange.
    pub fn end<O: Outbox, A: Agreement>(&self) -> ProcessEnd<'_, O, A> {
        ProcessEnd {
            processes: self,
            outboxes: (0..self.worker.of).map(|_| O::default()).collect(),
            sent: Vec::new(),
            received: Vec::new(),
            heads: Vec::new(),
            known: std::marker::PhantomData,
        }
    }

    /// Ends the use of the library; it cannot be joined again.
    pub fn leave(&self) {
        self.library.iter().for_each(Library::finalize);
    }

    /// Ends all processes at once, with an exit code. Returns where there are no others.
    pub fn abort(&self, code: i32) {
        if let Some(library) = &self.library {
            library.abort(code);
        }
    }
}

/// One process's end of the exchange. Its buffers keep their memory from window to window.
pub struct ProcessEnd<'a, O, A> {
    processes: &'a Processes,
    outboxes: Vec<O>,
    sent: Vec<u32>,
    received: Vec<u32>,
    /// Head for every process: how many words of the outbox follow, and what this one knows.
    heads: Vec<u32>,
    known: std::marker::PhantomData<A>,
}

impl<O: Outbox, A: Agreement> Exchange<O, A> for ProcessEnd<'_, O, A> {
    #[inline]
    fn outboxes(&mut self) -> &mut [O] {
        &mut self.outboxes
    }

    fn meet(&mut self, own: A, mut receive: impl FnMut(&mut O)) -> A {
        let Worker { number, of } = self.processes.worker;
        let Some(library) = &self.processes.library else {
            receive(&mut self.outboxes[number]);
            return own;
        };
        let sent = self.write(own);
        let mut heads = vec![0; self.heads.len()];
        library.all_to_all(&self.heads, &mut heads);
        let heads: Vec<&[u32]> = heads.chunks(heads.len() / of).collect();
        let received: Vec<i32> = heads.iter().map(|head| head[0] as i32).collect();
        self.received.resize(received.iter().map(|&length| length as usize).sum(), 0);
        library.all_to_all_of((&self.sent, &sent), (&mut self.received, &received));
        let mut words = &self.received[..];
        for (from, length) in received.into_iter().enumerate() {
            if from == number {
                receive(&mut self.outboxes[number]);
            } else if length > 0 {
                receive(&mut O::read(&mut words));
            }
        }
        heads.iter().fold(A::default(), |agreed, head| agreed.with(A::read(&mut &head[1..])))
    }
}

impl<O: Outbox, A: Agreement> ProcessEnd<'_, O, A> {
    /// Empties the outboxes to others into words; returns how many there are to each.
    fn write(&mut self, own: A) -> Vec<i32> {
        self.sent.clear();
        self.heads.clear();
        let number = self.processes.worker.number;
        let mut lengths = Vec::with_capacity(self.outboxes.len());
        for (to, outbox) in self.outboxes.iter_mut().enumerate() {
            let start = self.sent.len();
            if to != number && !outbox.is_empty() {
                outbox.write(&mut self.sent);
                outbox.clear();
            }
            lengths.push(count(self.sent.len() - start));
            self.heads.push((self.sent.len() - start) as u32);
            own.write(&mut self.heads);
        }
        lengths
    }
}

/// # Panics
/// When processes exchange more than 8 GiB at once.
fn count(words: usize) -> i32 {
    i32::try_from(words).expect("processes exchange less than 2^31 words at once")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agreement::tests::check_sums;

    #[test]
    fn a_process_alone_meets_itself() {
        check_sums(Processes::ALONE.end(), 0, 1);
        assert_eq!((Processes::ALONE.share(7_u32), Processes::ALONE.gather(8_u32)), (vec![7], vec![8]));
    }
}
