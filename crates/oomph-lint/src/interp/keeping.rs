//! Notes of what is kept, replaced, emptied and let out of sight.

use super::events::{AttrKeep, Keep, Loading};
use super::machine::Machine;
use crate::domain::{Kind, ObjId, State, Sure, Tensor, Value};
use crate::ir::{Name, Span};

impl Machine<'_> {
    /// The loops around which an object that holds something lives on, outermost first.
    fn grows_in(&self, state: &State, id: ObjId) -> Vec<u32> {
        let Some(object) = state.object(id) else { return Vec::new() };
        let common = object.birth.iter().zip(&self.loops).take_while(|(a, b)| a == b).count();
        // Loops inside one forward pass end with it.
        let end = if self.forward_depth > 0 { self.forward_base } else { self.loops.len() };
        self.loops.get(common..end).unwrap_or_default().to_vec()
    }

    /// Something is put into a container.
    pub(super) fn note_keep(&mut self, state: &State, id: ObjId, value: &Value, span: Span) {
        if !self.is_recording {
            return;
        }
        let Some(tensor) = self.deep(state, value) else { return };
        let grows = self.grows_in(state, id);
        let is_bounded = matches!(state.object(id).map(|object| &object.kind), Some(Kind::List { is_bounded: true }));
        if grows.is_empty() || is_bounded {
            return;
        }
        let at = self.at(span);
        let new = Keep {
            at: at.clone(),
            container: id,
            graph: tensor.graph,
            origins: tensor.origins,
            via: tensor.via,
            card: tensor.card,
            size: tensor.size,
            is_output: tensor.is_output,
            grows,
            is_hook: self.is_hook,
            calls: self.calls(),
        };
        let known = self.log.keeps.entry((at, id)).or_insert_with(|| new.clone());
        known.graph = known.graph.max(new.graph);
        known.origins.join(&new.origins);
        known.via.join(&new.via);
        known.card = known.card.max(new.card);
    }

    /// Something is stored under a constant key: it lives until the next round replaces it.
    pub(super) fn note_slot(&mut self, state: &State, id: ObjId, key: &Name, value: &Value, span: Span) {
        if self.is_hook {
            self.note_attr(state, id, key, value, span);
        }
    }

    /// Something is stored as an attribute.
    pub(super) fn note_attr(&mut self, state: &State, id: ObjId, name: &Name, value: &Value, span: Span) {
        if !self.is_recording {
            return;
        }
        let Some(Tensor { graph, origins, via, size, .. }) = self.deep(state, value) else { return };
        if graph < Sure::Likely {
            return;
        }
        let at = self.at(span);
        let is_module = self.is_module(state, id);
        let this = self.frames.last().and_then(|frame| frame.this.as_ref());
        let is_in_forward = self.forward_depth > 0 && this.is_some_and(|this| this.refs.contains(&id));
        let new = AttrKeep {
            at: at.clone(),
            attr: name.clone(),
            is_module,
            is_in_forward,
            is_hook: self.is_hook,
            graph,
            origins,
            via,
            size,
        };
        let known = self.log.attr_keeps.entry((at, id)).or_insert_with(|| new.clone());
        known.origins.join(&new.origins);
        known.via.join(&new.via);
    }

    /// A container is emptied, in part or whole.
    pub(super) fn note_clear(&mut self, value: &Value) {
        if !self.is_recording {
            return;
        }
        for &id in &value.refs {
            for number in self.loops.clone() {
                let cleared = &mut self.log.objects[id as usize].cleared_in;
                if !cleared.contains(&number) {
                    cleared.push(number);
                }
            }
        }
    }

    /// A variable or attribute gets another value: containers it held are let go.
    pub(super) fn note_replaced(&mut self, state: &State, old: &Value, new: &Value) {
        if !self.is_recording || self.loops.is_empty() {
            return;
        }
        let gone: Vec<ObjId> = old.refs.iter().copied().filter(|id| !new.refs.contains(id)).collect();
        for id in gone {
            if state.object(id).is_some_and(crate::domain::Object::is_container) {
                self.note_clear(&Value::object(id));
            }
        }
    }

    /// A value leaves what is in sight: its caller is not known.
    pub(super) fn note_escape(&mut self, state: &State, value: &Value) {
        if let Some(tensor) = self.deep(state, value) {
            self.log.returned.extend(tensor.origins.sites());
            for tag in tensor.via.iter().filter(|tag| tag & super::tensors::CHAIN_TAG == 0) {
                self.log.objects[tag as usize].escapes = true;
            }
        }
        let mut waiting: Vec<(ObjId, usize)> = value.refs.iter().map(|id| (*id, 0)).collect();
        while let Some((id, deep)) = waiting.pop() {
            let Some(object) = state.object(id) else { continue };
            self.log.objects[id as usize].escapes = true;
            if object.is_container() && deep < 3 {
                waiting.extend(object.any().refs.iter().map(|id| (*id, deep + 1)));
            }
        }
    }

    /// A file of tensors is read.
    pub(super) fn note_loading(&mut self, object: ObjId, has_map_location: bool, card: Sure, span: Span) {
        if self.is_recording {
            let at = self.at(span);
            let loading = Loading {
                at: at.clone(),
                object,
                has_map_location,
                card,
                is_into_card: Sure::No,
                is_into_module: false,
                is_kept: false,
                stays: false,
            };
            self.log.loadings.entry(at).or_insert(loading);
        }
    }

    /// A long loop starts: whatever was read from a file and is still held stays beside what runs.
    pub(super) fn note_still_held(&mut self, state: &State) {
        if !self.is_recording || self.log.loadings.is_empty() {
            return;
        }
        let globals = self.file_object(self.file());
        let globals = state.object(globals).into_iter().flat_map(|object| object.attrs.values());
        let held: Vec<ObjId> = state.locals.iter().chain(globals).flat_map(|value| value.refs.to_vec()).collect();
        for loading in self.log.loadings.values_mut().filter(|loading| held.contains(&loading.object)) {
            loading.stays = true;
        }
    }

    /// What was read from a file is stored in an object.
    pub(super) fn note_load_kept(&mut self, value: &Value) {
        if self.is_recording {
            for loading in self.log.loadings.values_mut().filter(|loading| value.refs.contains(&loading.object)) {
                (loading.is_kept, loading.stays) = (true, true);
            }
        }
    }
}
