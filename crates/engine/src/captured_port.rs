//! A captured port: its frames, kept, or written to a pcapng file while a run goes on.

use std::{collections::BTreeMap, io::Result, io::Write};

use etherweave_kernel::indices::PortIndex;
use etherweave_primitives::{HostId, Time};

use crate::{capture::Capture, capture::CapturedFrame, frame::pcapng, params::SimParams};

/// A port whose frames are captured.
pub struct CapturedPort {
    /// Its number in the shard of the host.
    pub port: PortIndex,
    /// Capture of its frames.
    pub capture: Capture,
    /// The other ends of its connections, by the numbers of these.
    pub peers: BTreeMap<u32, CapturedPeer>,
    /// The file that it goes to; without one it keeps all.
    pub file: Option<CaptureFile>,
}

/// The other end of a connection.
#[derive(Clone, Copy, Debug)]
pub struct CapturedPeer {
    /// Its host.
    pub host: HostId,
    /// Number of the connection's transport.
    pub transport: u8,
}

/// A pcapng file that is written while a run goes on.
pub struct CaptureFile {
    /// Most that is kept of a frame [B]; without it the whole.
    snap_length: Option<u32>,
    out: Box<dyn Write + Send>,
    /// The first failure: nothing is written after it.
    result: Result<()>,
}

impl CaptureFile {
    /// Begins the file of a host, with at most `snap_length` bytes of each frame.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(mut out: Box<dyn Write + Send>, host: &str, snap_length: Option<u32>) -> Result<CaptureFile> {
        pcapng::begin(&mut out, host, snap_length)?;
        Ok(CaptureFile { snap_length, out, result: Ok(()) })
    }

    fn write(&mut self, params: &SimParams, frames: impl Iterator<Item = CapturedFrame>) {
        for frame in frames {
            if self.result.is_ok() {
                self.result = pcapng::frame(&mut self.out, &frame, params, self.snap_length);
            }
        }
    }
}

/// The number of a connection, from that of one of its endpoints: these differ in the last bit.
pub fn connection(endpoint: u32) -> u32 {
    endpoint >> 1
}

impl CapturedPort {
    /// Captures at `port` of the shard of `host`, of whose endpoints there are the number and the other end.
    pub fn new(host: HostId, port: PortIndex, ends: impl Iterator<Item = (u32, CapturedPeer)>) -> CapturedPort {
        let peers = ends.map(|(number, other)| (connection(number), other)).collect();
        CapturedPort { port, capture: Capture { host, frames: Vec::new() }, peers, file: None }
    }

    /// Stores a frame in order of time: a pause frame is recorded before it leaves. No frame comes later that is
    /// before `now`, so what is until then is final and can be written.
    pub fn store(&mut self, now: Time, params: &SimParams, frame: CapturedFrame) {
        let frames = &mut self.capture.frames;
        if let Some(file) = &mut self.file {
            let final_ones = frames.partition_point(|other| other.time <= now);
            file.write(params, frames.drain(..final_ones));
        }
        let place = frames.partition_point(|other| other.time <= frame.time);
        frames.insert(place, frame);
    }

    /// Writes what is left, and ends the file.
    ///
    /// # Errors
    /// When it could not be written.
    pub fn end(&mut self, params: &SimParams) -> Result<()> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        file.write(params, self.capture.frames.drain(..));
        file.result.and_then(|()| file.out.flush())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use crate::{capture::Captured, frame::pause::PauseFrame};

    use super::*;

    /// A file that can be read while it is written.
    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> Result<()> {
            Ok(())
        }
    }

    fn frame(time: u64, quanta: u16) -> CapturedFrame {
        let content = Captured::Pause(PauseFrame { enable: 1, stop: 1, quanta });
        let (source, destination) = (HostId::new(1), HostId::new(1));
        CapturedFrame {
            time: Time::from_ps(time),
            is_outgoing: true,
            source,
            destination,
            queue: 0,
            transport: 0,
            content,
        }
    }

    #[test]
    fn a_file_that_is_written_during_the_run_is_that_of_all_frames_in_order_of_time() {
        let params = SimParams::default();
        // When each is recorded, and its time: pause frames are recorded before they leave.
        let recorded = [(10, 15), (12, 12), (12, 40), (15, 15), (15, 20), (20, 20), (20, 40), (40, 40), (50, 60)];
        let (written, mut kept) =
            (Shared::default(), CapturedPort::new(HostId::new(1), PortIndex::new(0), [].into_iter()));
        let mut streamed = CapturedPort::new(HostId::new(1), PortIndex::new(0), [].into_iter());
        streamed.file = Some(CaptureFile { snap_length: None, out: Box::new(written.clone()), result: Ok(()) });
        for (number, (now, time)) in recorded.into_iter().enumerate() {
            for port in [&mut kept, &mut streamed] {
                port.store(Time::from_ps(now), &params, frame(time, number as u16));
            }
            assert!(streamed.capture.frames.len() <= 3, "only what lies ahead is kept");
        }
        streamed.end(&params).unwrap();
        let mut expected = Vec::new();
        kept.capture.frames.iter().for_each(|frame| pcapng::frame(&mut expected, frame, &params, None).unwrap());
        assert_eq!(*written.0.lock().unwrap(), expected);
    }
}
