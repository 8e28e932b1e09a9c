tidemark sql gpt.db "SELECT module, class, parameters, gradients, optimizer_state, activations, workspace,
                     other, bytes, blocks FROM module_memory" --format csv
tidemark sql gpt.db "SELECT allocation, module FROM live_at_peak ORDER BY allocation" --format csv
