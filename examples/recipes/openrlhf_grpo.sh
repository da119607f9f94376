#!/usr/bin/env bash
# GRPO with OpenRLHF 0.11: 32 rollouts a prompt, rewards over HTTP from heedful's server (REWARD).
#   heedful serve --judge rules,checklist --model critic --base-url http://critic:8000/v1 --undecided 0
#   POLICY=Qwen/Qwen3-4B bash examples/recipes/openrlhf_grpo.sh data
set -euo pipefail
data=${1:-data}
python3 -m openrlhf.cli.train_ppo_ray \
    --actor.model_name_or_path "${POLICY:-policy}" \
    --reward.remote_url "${REWARD:-http://127.0.0.1:8765/openrlhf}" \
    --data.prompt_dataset "$data/openrlhf.jsonl" \
    --data.input_key input \
    --data.label_key label \
    --data.apply_chat_template \
    --data.max_len 3072 \
    --algo.advantage.estimator group_norm \
    --algo.kl.init_coef 0 \
    --rollout.n_samples_per_prompt 32 \
    --rollout.batch_size 64 \
    --rollout.temperature 1.0 \
    --train.batch_size 2048 \
    --train.micro_batch_size 8 \
    --train.async_enable \
    --actor.adam.lr 1e-6 \
    --actor.num_gpus_per_node "${GPUS:-4}" \
    --vllm.num_engines "${ENGINES:-4}" \
    --vllm.tensor_parallel_size 1 \
    --ds.zero_stage 3 \
    --ckpt.output_dir policy
