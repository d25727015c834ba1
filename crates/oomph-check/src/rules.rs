//! Every rule, one file each.
//!
//! # Writing a rule
//!
//! A rule is one file in `rules/` with a `static RULE: Rule` (its page, its check), a Python file of the same name with
//! its programs, one `mod` line and one line in [`ALL`] here. The programs are run by `cargo test -p oomph-check`: the
//! bad ones must fire exactly this rule, the good ones and the silent ones must not fire it.
//!
//! A rule says what it costs ([`Size`](crate::Size)), and a finding of another size says so (`.size(...)`). The level
//! follows from that; no rule chooses one. What rests on something that is not seen is `.doubtful_if(...)`. A finding that
//! stands elsewhere than the code that does it names that (`.caused_by(...)`), and one about something that is kept names
//! what makes it (`.made_by_if(...)`): so one bug is reported once, whatever rules see it.
//!
//! The check asks [`Facts`](crate::Facts) and writes to a [`Report`](crate::Report). Nothing is walked again: the
//! walk has left lists of events, each with its values and its place, and a rule filters one of them. This is the heart of
//! `empty-cache-in-inner-loop`:
//!
//! ```ignore
//! fn check(facts: &Facts<'_>, report: &mut Report) {
//!     for call in facts.calls_to("torch.cuda.empty_cache") {       // however it is imported or spelt
//!         let Some(batches) = facts.batch_loop(&call.at) else { continue };
//!         if facts.handler(&call.at).is_some() || !facts.is_unconditional_in(&call.at, batches.block) {
//!             continue;                                            // in an `except`, or only now and then
//!         }
//!         report
//!             .add(call, "`empty_cache()` runs once a batch: it frees no tensor and makes the next ones slower")
//!             .because(&batches.head(), "this loop runs once a batch")
//!             .unsafe_fix("Remove the call", facts.delete_statement(call.at.stmt));
//!     }
//! }
//! ```
//!
//! What there is to ask, by need:
//!
//! - **Which calls?** [`Facts::calls_to`](crate::Facts::calls_to) by full name (`torch.nn.functional.one_hot`; other
//!   spellings such as `pytorch_lightning.X` are `lightning.X`), [`calls_named`](crate::Facts::calls_named) by last
//!   part (`append`, `register_forward_hook`), [`calls_under`](crate::Facts::calls_under) by prefix. A
//!   [`Call`](crate::analysis::events::Call) has `receiver`, `args`, `keywords`, `result` as values, `arg(i)`,
//!   `keyword("name")`, `keyword_is("name", true)` as expressions, and `has_star()` for calls that hide arguments.
//! - **What is it?** A [`Value`](crate::analysis::value::Value): its `kind` (tensor, module, loader, list, ...),
//!   `graph` (how sure a graph hangs on it; `keeps_graph()` for sure enough to speak), `flags`
//!   ([`Flags`](crate::analysis::value::Flags): loss, detached, made under `no_grad`, view, leaf, frozen, from a
//!   loader), `device`, `element()` and `parts`, `made_at`. [`Facts::name_of`](crate::Facts::name_of) says which
//!   class or function made it.
//! - **What is kept where?** [`Facts::stores`](crate::Facts::stores): `+=`, `append`, `x[k] = v`, `self.a = v`, with
//!   the holder's and the kept value; `via` when a function of the project does it.
//!   [`outlives`](crate::Facts::outlives) and [`is_emptied_in`](crate::Facts::is_emptied_in) say for how long.
//! - **Where are we?** Every event has `at`: its gradient mode (`at.grad`), its block
//!   ([`loops`](crate::Facts::loops), [`batch_loop`](crate::Facts::batch_loop),
//!   [`blocks_around`](crate::Facts::blocks_around), [`handler`](crate::Facts::handler)), its function
//!   ([`kind_at`](crate::Facts::kind_at): forward, `__getitem__`, hook, Lightning step;
//!   [`function_name`](crate::Facts::function_name)).
//! - **Before, after, always?** [`is_always_before`](crate::Facts::is_always_before),
//!   [`is_unconditional_in`](crate::Facts::is_unconditional_in), `at.order`.
//! - **Backward, step, `zero_grad`?** [`effects_in`](crate::Facts::effects_in) a block, helper functions seen
//!   through; [`backward_of`](crate::Facts::backward_of) a value; [`is_freed`](crate::Facts::is_freed) at a point.
//! - **A fix?** [`delete_statement`](crate::Facts::delete_statement),
//!   [`insert_before`](crate::Facts::insert_before), [`wrap_in_with`](crate::Facts::wrap_in_with),
//!   [`call_method_on`](crate::Facts::call_method_on),
//!   [`add_argument`](crate::Facts::add_argument), [`remove_argument`](crate::Facts::remove_argument): each gives the
//!   edits, or none when the text is not simple enough, and a finding with no edits has no fix.
//!
//! Stay silent when in doubt: a default rule must be right 95 times in 100 on code it has never seen. Ask for
//! `keeps_graph()`, for a loop known to go over batches, for a literal argument; name in `because` each fact asked for.

use crate::rule::Rule;

mod accumulation_walks_whole_loader;
mod activation_kept_on_module;
mod all_gather_object;
mod alloc_conf_set_too_late;
mod alloc_conf_unknown_key;
mod anomaly_detection_left_on;
mod backward_inside_autocast;
mod bare_except_swallows_oom;
mod bound_method_on_self;
mod build_on_gpu_then_load;
mod cat_in_loop;
mod checkpoint_dict_kept;
mod checkpoint_reentrant_unset;
mod checkpoint_whole_model;
mod checkpoint_with_cache;
mod compute_metrics_on_graph;
mod create_graph_in_backward;
mod ctx_attribute_in_custom_function;
mod cuda_at_import;
mod cuda_in_getitem_or_collate;
mod cudagraph_without_shared_pool;
mod cudnn_benchmark_with_varying_shapes;
mod dataparallel;
mod ddp_bucket_view_off;
mod ddp_without_set_device;
mod deepcopy_of_model_on_gpu;
mod dense_embedding_gradient;
mod deprecated_amp_api;
mod deprecated_memory_api;
mod empty_cache_before_del;
mod empty_cache_in_inner_loop;
mod eval_loop_without_no_grad;
mod eval_mistaken_for_no_grad;
mod exception_object_kept;
mod eye_index_or_dense_mask;
mod figure_or_logger_holds_tensor;
mod flatten_all_parameters;
mod float64_by_accident;
mod foreach_peak;
mod forward_called_directly;
mod forward_hook_stores_output;
mod frozen_or_teacher_forward_with_grad;
mod full_state_dict_on_gpu;
mod gather_predictions_on_gpu;
mod gc_collect_every_step;
mod gc_disabled;
mod generator_output_not_detached;
mod global_or_class_level_tensor_store;
mod grad_needed_on_input;
mod grad_norm_history_kept;
mod hand_written_attention;
mod hf_eval_accumulation_unset;
mod hf_hidden_states_on;
mod hf_load_in_fp32;
mod hidden_state_carried_across_batches;
mod hook_handle_dropped;
mod infinite_batch_halving;
mod itertools_cycle_over_loader;
mod jit_trace_in_loop;
mod lambda_capturing_self_in_scheduler;
mod last_micro_batches_not_stepped;
mod lbfgs_history;
mod lightning_step_outputs_kept;
mod list_of_loader;
mod load_without_map_location;
mod log_of_softmax;
mod logits_upcast;
mod loss_accumulated_with_graph;
mod losses_summed_then_one_backward;
mod lru_cache_over_tensors;
mod manual_grad_zeroing;
mod memory_history_unbounded;
mod method_named_not_called;
mod mha_need_weights;
mod model_cuda_before_fsdp;
mod model_rebuilt_in_cell;
mod no_grad_called_as_statement;
mod no_sync_with_sharding;
mod non_blocking_without_pin;
mod notebook_output_history;
mod one_hot_large;
mod oom_by_string;
mod optimizer_before_to_device;
mod optimizer_created_in_loop;
mod optimizer_given_frozen_parameters;
mod out_of_place_in_no_grad;
mod pack_hook_keeps_undetached_tensor;
mod pairwise_broadcast;
mod pin_memory_in_loop;
mod previous_step_result_alive;
mod profiler_without_schedule;
mod record_stream_in_loop;
mod repeat_instead_of_expand;
mod requires_grad_misspelt;
mod retain_graph_true;
mod retry_inside_except;
mod scaler_misuse;
mod set_to_none_false;
mod stream_created_in_loop;
mod tensor_stored_in_container_with_graph;
mod torchmetrics_unbinned_curves;
mod unknown_memory_api;
mod view_keeps_whole_storage;
mod whole_dataset_to_gpu;
mod workers_times_prefetch;
mod zero_grad_after_forward;
mod zero_grad_inside_accumulation;
mod zero_grad_missing;

/// All rules, by group and then by name.
pub static ALL: &[&Rule] = &[
    // Keeping the autograd graph alive.
    &activation_kept_on_module::RULE,
    &bound_method_on_self::RULE,
    &create_graph_in_backward::RULE,
    &ctx_attribute_in_custom_function::RULE,
    &figure_or_logger_holds_tensor::RULE,
    &forward_hook_stores_output::RULE,
    &frozen_or_teacher_forward_with_grad::RULE,
    &generator_output_not_detached::RULE,
    &global_or_class_level_tensor_store::RULE,
    &hidden_state_carried_across_batches::RULE,
    &hook_handle_dropped::RULE,
    &lambda_capturing_self_in_scheduler::RULE,
    &loss_accumulated_with_graph::RULE,
    &losses_summed_then_one_backward::RULE,
    &lru_cache_over_tensors::RULE,
    &pack_hook_keeps_undetached_tensor::RULE,
    &previous_step_result_alive::RULE,
    &retain_graph_true::RULE,
    &tensor_stored_in_container_with_graph::RULE,
    &view_keeps_whole_storage::RULE,
    // Evaluation and gradient mode.
    &anomaly_detection_left_on::RULE,
    &compute_metrics_on_graph::RULE,
    &eval_loop_without_no_grad::RULE,
    &eval_mistaken_for_no_grad::RULE,
    &grad_needed_on_input::RULE,
    &method_named_not_called::RULE,
    &no_grad_called_as_statement::RULE,
    &optimizer_given_frozen_parameters::RULE,
    &requires_grad_misspelt::RULE,
    // Gradients and optimizers.
    &accumulation_walks_whole_loader::RULE,
    &backward_inside_autocast::RULE,
    &deepcopy_of_model_on_gpu::RULE,
    &deprecated_amp_api::RULE,
    &flatten_all_parameters::RULE,
    &foreach_peak::RULE,
    &grad_norm_history_kept::RULE,
    &last_micro_batches_not_stepped::RULE,
    &lbfgs_history::RULE,
    &manual_grad_zeroing::RULE,
    &optimizer_before_to_device::RULE,
    &optimizer_created_in_loop::RULE,
    &scaler_misuse::RULE,
    &set_to_none_false::RULE,
    &zero_grad_after_forward::RULE,
    &zero_grad_inside_accumulation::RULE,
    &zero_grad_missing::RULE,
    // The allocator and its API.
    &alloc_conf_set_too_late::RULE,
    &alloc_conf_unknown_key::RULE,
    &cudagraph_without_shared_pool::RULE,
    &deprecated_memory_api::RULE,
    &empty_cache_before_del::RULE,
    &empty_cache_in_inner_loop::RULE,
    &gc_collect_every_step::RULE,
    &gc_disabled::RULE,
    &memory_history_unbounded::RULE,
    &profiler_without_schedule::RULE,
    &record_stream_in_loop::RULE,
    &stream_created_in_loop::RULE,
    &unknown_memory_api::RULE,
    // Handling running out of memory.
    &bare_except_swallows_oom::RULE,
    &exception_object_kept::RULE,
    &infinite_batch_halving::RULE,
    &oom_by_string::RULE,
    &retry_inside_except::RULE,
    // Data, loading, transfer.
    &build_on_gpu_then_load::RULE,
    &cat_in_loop::RULE,
    &checkpoint_dict_kept::RULE,
    &cuda_at_import::RULE,
    &cuda_in_getitem_or_collate::RULE,
    &gather_predictions_on_gpu::RULE,
    &itertools_cycle_over_loader::RULE,
    &list_of_loader::RULE,
    &load_without_map_location::RULE,
    &non_blocking_without_pin::RULE,
    &pin_memory_in_loop::RULE,
    &whole_dataset_to_gpu::RULE,
    &workers_times_prefetch::RULE,
    // Several processes or cards.
    &all_gather_object::RULE,
    &dataparallel::RULE,
    &ddp_bucket_view_off::RULE,
    &ddp_without_set_device::RULE,
    &full_state_dict_on_gpu::RULE,
    &model_cuda_before_fsdp::RULE,
    &no_sync_with_sharding::RULE,
    // Operations and shapes.
    &checkpoint_reentrant_unset::RULE,
    &checkpoint_whole_model::RULE,
    &checkpoint_with_cache::RULE,
    &cudnn_benchmark_with_varying_shapes::RULE,
    &dense_embedding_gradient::RULE,
    &eye_index_or_dense_mask::RULE,
    &float64_by_accident::RULE,
    &forward_called_directly::RULE,
    &hand_written_attention::RULE,
    &jit_trace_in_loop::RULE,
    &log_of_softmax::RULE,
    &logits_upcast::RULE,
    &mha_need_weights::RULE,
    &one_hot_large::RULE,
    &out_of_place_in_no_grad::RULE,
    &pairwise_broadcast::RULE,
    &repeat_instead_of_expand::RULE,
    // Frameworks and notebooks.
    &hf_eval_accumulation_unset::RULE,
    &hf_hidden_states_on::RULE,
    &hf_load_in_fp32::RULE,
    &lightning_step_outputs_kept::RULE,
    &model_rebuilt_in_cell::RULE,
    &notebook_output_history::RULE,
    &torchmetrics_unbinned_curves::RULE,
];

/// The rule of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Rule> {
    ALL.iter().copied().find(|rule| rule.name == name)
}
