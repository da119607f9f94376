#!/usr/bin/env bash
# GRPO with verl 0.9: 32 rollouts a prompt, the critic on a server of its own (CRITIC_URL, CRITIC).
#   POLICY=Qwen/Qwen3-4B CRITIC_URL=http://critic:8000/v1 bash examples/recipes/verl_grpo.sh data
set -euo pipefail
data=${1:-data}
here=$(cd "$(dirname "$0")" && pwd)
python3 -m verl.trainer.main_ppo \
    algorithm.adv_estimator=grpo \
    algorithm.use_kl_in_reward=False \
    data.train_files="$data/verl.parquet" \
    data.val_files="$data/verl.parquet" \
    data.train_batch_size=64 \
    data.max_prompt_length=2048 \
    data.max_response_length=1024 \
    data.truncation=error \
    actor_rollout_ref.model.path="${POLICY:-policy}" \
    actor_rollout_ref.actor.optim.lr=1e-6 \
    actor_rollout_ref.actor.use_kl_loss=False \
    actor_rollout_ref.actor.ppo_mini_batch_size=64 \
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8 \
    actor_rollout_ref.rollout.name=vllm \
    actor_rollout_ref.rollout.n=32 \
    actor_rollout_ref.rollout.gpu_memory_utilization=0.5 \
    actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=8 \
    reward.custom_reward_function.path="$here/reward.py" \
    reward.custom_reward_function.name=compute_score \
    reward.num_workers=8 \
    trainer.n_gpus_per_node="${GPUS:-8}" \
    trainer.total_epochs=1 \
    trainer.logger='["console"]'
