//! The MPI library. In a build without the feature `mpi` there is none.

#[cfg(feature = "mpi")]
mod library {
    use std::sync::Mutex;

    use mpi::{
        Threading, datatype::Partition, datatype::PartitionMut, environment::Universe, topology::SimpleCommunicator,
        traits::Communicator, traits::CommunicatorCollectives,
    };

    use crate::Worker;

    /// The library from its initialisation to its end; all is done by the thread that initialised it.
    pub struct Library(Mutex<Option<Universe>>);

    impl Library {
        pub fn initialize() -> Option<Library> {
            let (universe, _) = mpi::initialize_with_threading(Threading::Funneled)?;
            Some(Library(Mutex::new(Some(universe))))
        }

        pub fn worker(&self) -> Worker {
            let world = SimpleCommunicator::world();
            let [number, of] = [world.rank(), world.size()].map(|count| count as usize);
            Worker { number, of }
        }

        /// Sends an equal part to every process.
        pub fn all_to_all(&self, sent: &[u32], received: &mut [u32]) {
            SimpleCommunicator::world().all_to_all_into(sent, received);
        }

        /// Sends a part of given length to every process, and receives one from each.
        pub fn all_to_all_of(&self, sent: (&[u32], &[i32]), received: (&mut [u32], &[i32])) {
            let from = Partition::new(sent.0, sent.1, starts(sent.1));
            let mut to = PartitionMut::new(received.0, received.1, starts(received.1));
            SimpleCommunicator::world().all_to_all_varcount_into(&from, &mut to);
        }

        pub fn finalize(&self) {
            drop(self.0.lock().expect("nobody panics here").take());
        }

        pub fn abort(&self, code: i32) -> ! {
            SimpleCommunicator::world().abort(code)
        }
    }

    fn starts(counts: &[i32]) -> Vec<i32> {
        let start = |end: &mut i32, &count: &i32| {
            let start = *end;
            *end = end.checked_add(count).expect("processes exchange less than 2^31 words at once");
            Some(start)
        };
        counts.iter().scan(0, start).collect()
    }
}

#[cfg(not(feature = "mpi"))]
mod library {
    use crate::Worker;

    /// None.
    pub enum Library {}

    impl Library {
        pub fn initialize() -> Option<Library> {
            None
        }

        pub fn worker(&self) -> Worker {
            match *self {}
        }

        pub fn all_to_all(&self, _: &[u32], _: &mut [u32]) {
            match *self {}
        }

        pub fn all_to_all_of(&self, _: (&[u32], &[i32]), _: (&mut [u32], &[i32])) {
            match *self {}
        }

        pub fn finalize(&self) {
            match *self {}
        }

        pub fn abort(&self, _: i32) -> ! {
            match *self {}
        }
    }
}

pub(crate) use library::Library;
