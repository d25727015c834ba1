//! One look at a card: every question asked once, whatever it answers.

use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::{MemoryInfo, ProcessInfo};

use crate::card::{Card, CardProcess, ProcessKind};
use crate::memory::{Memory, SystemMemory};

type Answer<T> = Result<T, NvmlError>;

/// How often a list of processes is asked for again that grew meanwhile.
const TRIES: usize = 3;

/// The questions, so that tests can answer as drivers do that nobody has at hand.
pub(crate) trait Questions: Sized {
    fn uuid(&self) -> Answer<String>;
    fn name(&self) -> Answer<String>;
    fn memory(&self) -> Answer<MemoryInfo>;
    fn busy_percent(&self) -> Answer<u32>;
    fn temperature_c(&self) -> Answer<u32>;
    fn power_mw(&self) -> Answer<u32>;
    fn power_limit_mw(&self) -> Answer<u32>;
    fn clock_mhz(&self) -> Answer<u32>;
    fn fan_percent(&self) -> Answer<u32>;
    fn processes(&self, kind: ProcessKind) -> Answer<Vec<ProcessInfo>>;
    fn is_divided(&self) -> bool;
    /// The instances of a divided card, each with its number.
    fn instances(&self) -> Vec<(u32, Self)>;
}

impl Questions for Device<'_> {
    fn uuid(&self) -> Answer<String> {
        self.uuid()
    }

    fn name(&self) -> Answer<String> {
        self.name()
    }

    fn memory(&self) -> Answer<MemoryInfo> {
        self.memory_info()
    }

    fn busy_percent(&self) -> Answer<u32> {
        self.utilization_rates().map(|rates| rates.gpu)
    }

    fn temperature_c(&self) -> Answer<u32> {
        self.temperature(TemperatureSensor::Gpu)
    }

    fn power_mw(&self) -> Answer<u32> {
        self.power_usage()
    }

    fn power_limit_mw(&self) -> Answer<u32> {
        self.enforced_power_limit()
    }

    fn clock_mhz(&self) -> Answer<u32> {
        self.clock_info(Clock::SM)
    }

    fn fan_percent(&self) -> Answer<u32> {
        self.fan_speed(0)
    }

    fn processes(&self, kind: ProcessKind) -> Answer<Vec<ProcessInfo>> {
        match kind {
            ProcessKind::Compute => self.running_compute_processes(),
            ProcessKind::Graphics => self.running_graphics_processes(),
        }
    }

    fn is_divided(&self) -> bool {
        self.mig_mode().is_ok_and(|mode| mode.current == 1)
    }

    fn instances(&self) -> Vec<(u32, Self)> {
        let count = self.mig_device_count().unwrap_or(0);
        (0..count).filter_map(|at| Some((at, self.mig_device_by_index(at).ok()?))).collect()
    }
}

/// A card, and its instances if it is divided.
pub(crate) fn look(index: u32, card: &impl Questions, system: Option<SystemMemory>) -> Vec<Card> {
    let mut whole = look_at(index, None, card, system);
    whole.is_divided = card.is_divided();
    let mut found = vec![whole];
    if card.is_divided() {
        found.extend(card.instances().iter().map(|(at, instance)| look_at(index, Some(*at), instance, system)));
    }
    found
}

fn look_at(index: u32, instance: Option<u32>, card: &impl Questions, system: Option<SystemMemory>) -> Card {
    let name = match card.name() {
        Err(problem @ (NvmlError::GpuLost | NvmlError::ResetRequired)) => return lost(index, &problem),
        answer => answer.ok(),
    };
    let memory = memory(card.memory(), system);
    // A card that shares the host's memory is part of a chip: what is said about fans there is not its own.
    let fan_percent = if matches!(memory, Memory::Unified { .. }) { None } else { card.fan_percent().ok() };
    Card {
        index,
        instance,
        uuid: card.uuid().ok(),
        name,
        is_divided: false,
        memory,
        busy_percent: card.busy_percent().ok().filter(|&percent| percent <= 100),
        temperature_c: card.temperature_c().ok(),
        power_mw: card.power_mw().ok(),
        power_limit_mw: card.power_limit_mw().ok(),
        clock_mhz: card.clock_mhz().ok(),
        fan_percent,
        processes: processes(card),
        problem: None,
    }
}

pub(crate) fn lost(index: u32, problem: &NvmlError) -> Card {
    Card { index, problem: Some(problem.to_string()), ..Card::default() }
}

/// Where the driver knows of no memory, or counts all of the host's as the card's, the two share theirs.
fn memory(answer: Answer<MemoryInfo>, system: Option<SystemMemory>) -> Memory {
    let is_unified = match &answer {
        Ok(info) => info.total == 0 || system.is_some_and(|system| system.total_bytes == info.total),
        Err(problem) => matches!(problem, NvmlError::NotSupported),
    };
    match (answer, system) {
        (_, Some(system)) if is_unified => system.as_unified(),
        (Ok(info), _) if !is_unified => Memory::Own {
            total_bytes: info.total,
            used_bytes: info.used,
            free_bytes: info.free,
            reserved_bytes: info.reserved,
        },
        _ => Memory::Unknown,
    }
}

/// Every process once; one that computes and draws computes.
fn processes(card: &impl Questions) -> Option<Vec<CardProcess>> {
    let compute = ask(card, ProcessKind::Compute);
    let graphics = ask(card, ProcessKind::Graphics);
    if compute.is_none() && graphics.is_none() {
        return None;
    }
    let mut found = compute.unwrap_or_default();
    for process in graphics.unwrap_or_default() {
        if !found.iter().any(|known| known.pid == process.pid) {
            found.push(process);
        }
    }
    Some(found)
}

fn ask(card: &impl Questions, kind: ProcessKind) -> Option<Vec<CardProcess>> {
    let mut answers = (0..TRIES).map(|_| card.processes(kind));
    let found = answers.find(|answer| !matches!(answer, Err(NvmlError::InsufficientSize(_))))?.ok()?;
    let used_bytes = |process: &ProcessInfo| match process.used_gpu_memory {
        UsedGpuMemory::Used(bytes) => Some(bytes),
        UsedGpuMemory::Unavailable => None,
    };
    Some(found.iter().map(|one| CardProcess { pid: one.pid, used_bytes: used_bytes(one), kind }).collect())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A card that answers what it has, and "not supported" to all else.
    #[derive(Default)]
    struct Answers {
        name: Option<&'static str>,
        memory: Option<(u64, u64)>,
        is_lost: bool,
        processes: Vec<(u32, Option<u64>)>,
        is_drawn_by: Vec<u32>,
        bursts: Cell<usize>,
        instances: Vec<(u32, Answers)>,
    }

    fn not<T>(answer: Option<T>) -> Answer<T> {
        answer.ok_or(NvmlError::NotSupported)
    }

    impl Questions for Answers {
        fn uuid(&self) -> Answer<String> {
            not(None)
        }
        fn name(&self) -> Answer<String> {
            if self.is_lost { Err(NvmlError::GpuLost) } else { not(self.name.map(str::to_owned)) }
        }
        fn memory(&self) -> Answer<MemoryInfo> {
            let info = |(total, used)| MemoryInfo { free: total - used, reserved: 0, total, used, version: 2 };
            not(self.memory.map(info))
        }
        fn busy_percent(&self) -> Answer<u32> {
            not(None)
        }
        fn temperature_c(&self) -> Answer<u32> {
            not(None)
        }
        fn power_mw(&self) -> Answer<u32> {
            not(None)
        }
        fn power_limit_mw(&self) -> Answer<u32> {
            not(None)
        }
        fn clock_mhz(&self) -> Answer<u32> {
            not(None)
        }
        fn fan_percent(&self) -> Answer<u32> {
            Ok(30)
        }
        fn processes(&self, kind: ProcessKind) -> Answer<Vec<ProcessInfo>> {
            let process = |pid, used: Option<u64>| ProcessInfo {
                pid,
                used_gpu_memory: used.map_or(UsedGpuMemory::Unavailable, UsedGpuMemory::Used),
                gpu_instance_id: None,
                compute_instance_id: None,
            };
            if kind == ProcessKind::Graphics {
                return Ok(self.is_drawn_by.iter().map(|&pid| process(pid, Some(1))).collect());
            }
            if self.bursts.get() > 0 {
                self.bursts.set(self.bursts.get() - 1);
                return Err(NvmlError::InsufficientSize(None));
            }
            Ok(self.processes.iter().map(|&(pid, used)| process(pid, used)).collect())
        }
        fn is_divided(&self) -> bool {
            !self.instances.is_empty()
        }
        fn instances(&self) -> Vec<(u32, Self)> {
            let part = |name, memory| Answers { name, memory, ..Self::default() };
            self.instances.iter().map(|(at, found)| (*at, part(found.name, found.memory))).collect()
        }
    }

    const SYSTEM: Option<SystemMemory> = Some(SystemMemory { total_bytes: 128, available_bytes: 100 });

    #[test]
    fn a_card_that_answers_nothing_is_still_a_card() {
        let found = look(3, &Answers::default(), None);
        let expected = Card { index: 3, processes: Some(Vec::new()), fan_percent: Some(30), ..Card::default() };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn memory_that_the_driver_does_not_know_is_the_host_s() {
        let unified = Memory::Unified { total_bytes: 128, used_bytes: 28, free_bytes: 100 };
        for memory in [None, Some((0, 0)), Some((128, 128))] {
            let card = Answers { name: Some("NVIDIA GB10"), memory, ..Answers::default() };
            let found = look(0, &card, SYSTEM);
            assert_eq!((found[0].memory, found[0].fan_percent), (unified, None), "{memory:?}");
        }
        let own = look(0, &Answers { memory: Some((80, 5)), ..Answers::default() }, SYSTEM);
        let expected = Memory::Own { total_bytes: 80, used_bytes: 5, free_bytes: 75, reserved_bytes: 0 };
        assert_eq!((own[0].memory, own[0].fan_percent), (expected, Some(30)));
    }

    #[test]
    fn instances_follow_their_card() {
        let part = Answers { name: Some("MIG 1g.10gb"), memory: Some((10, 1)), ..Answers::default() };
        let card = Answers { memory: Some((80, 1)), instances: vec![(4, part)], ..Answers::default() };
        let found = look(1, &card, SYSTEM);
        assert!(found[0].is_divided && found[0].instance.is_none() && found.len() == 2);
        assert_eq!((found[1].index, found[1].instance, found[1].memory.total_bytes()), (1, Some(4), Some(10)));
    }

    #[test]
    fn a_lost_card_says_so() {
        let found = look(0, &Answers { is_lost: true, ..Answers::default() }, SYSTEM);
        assert!(found[0].problem.is_some() && found[0].processes.is_none());
    }

    #[test]
    fn processes_are_counted_once_and_asked_for_again_after_a_burst() {
        let card = Answers { processes: vec![(7, Some(5)), (8, None)], is_drawn_by: vec![8, 9], ..Answers::default() };
        card.bursts.set(2);
        let found = look(0, &card, SYSTEM).remove(0).processes.unwrap();
        let kinds: Vec<_> = found.iter().map(|process| (process.pid, process.used_bytes, process.kind)).collect();
        let (compute, graphics) = (ProcessKind::Compute, ProcessKind::Graphics);
        assert_eq!(kinds, [(7, Some(5), compute), (8, None, compute), (9, Some(1), graphics)]);
        card.bursts.set(9);
        assert_eq!(look(0, &card, SYSTEM).remove(0).processes.unwrap().len(), 2, "those that draw");
    }
}
