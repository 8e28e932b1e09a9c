/* levers_loop.c - see levers_loop.h. */
#include "levers_loop.h"

#include "query.h"

static const char loop_sql[] =
    "SELECT coalesce(max(text LIKE '%/transformers/trainer.py'), 0) AS trainer,"
    "       coalesce(max(text LIKE '%/lightning/pytorch/trainer/trainer.py'"
    "                 OR text LIKE '%/pytorch_lightning/trainer/trainer.py'), 0) AS lightning,"
    "       coalesce(max(text LIKE '%/loops/optimization/manual.py'), 0) AS manual"
    "  FROM string";

int levers_loop_read(struct db *db, enum levers_loop *out)
{
    bool trainer = false, lightning = false, manual = false;
    int err = query_once(db, loop_sql, Q_OUT(Q_INT(trainer), Q_INT(lightning), Q_INT(manual)));
    *out = trainer     ? LEVERS_HF_TRAINER
           : lightning ? (manual ? LEVERS_LIGHTNING_BY_HAND : LEVERS_LIGHTNING)
                       : LEVERS_OWN_LOOP;
    return err < 0 ? err : 0;
}

const char *levers_in_loop(enum levers_loop loop, enum lever_kind kind, const char *usual)
{
    static const char *const texts[LEVERS_LOOPS][LEVER_KINDS] = {
        [LEVERS_HF_TRAINER] =
            {
                [LEVER_HALF_BATCH] =
                    "gradient accumulation, TrainingArguments: half "
                    "per_device_train_batch_size, twice gradient_accumulation_steps",
                [LEVER_CHECKPOINT] = "TrainingArguments(gradient_checkpointing=True)",
                [LEVER_EVALUATION] = "a smaller evaluation batch, TrainingArguments("
                                     "per_device_eval_batch_size=...), until a training step is "
                                     "the peak; most of the difference: ",
                [LEVER_EIGHT_BIT_STATES] =
                    "TrainingArguments(optim='adamw_bnb_8bit'): optimizer state in 8 bits",
                [LEVER_HALF_PRECISION] =
                    "from_pretrained(..., dtype=torch.bfloat16) or model.to(torch.bfloat16); "
                    "cast the model's floating-point inputs, and tensors that forward() creates "
                    "in float32: parameters, gradients, optimizer state and activations in 16 "
                    "bits",
                [LEVER_AUTOCAST] = "TrainingArguments(bf16=True): outputs of matrix products and "
                                   "convolutions in 16 bits",
                [LEVER_NO_STATES] = "TrainingArguments(optim='sgd'): an optimizer without state",
            },
        [LEVERS_LIGHTNING] =
            {
                [LEVER_HALF_BATCH] =
                    "gradient accumulation, half the batch_size of the DataLoader: Trainer("
                    "accumulate_grad_batches=...) with twice as many",
                [LEVER_HALF_PRECISION] =
                    "Trainer(precision='bf16-true'): parameters, gradients, optimizer state and "
                    "activations in 16 bits",
                [LEVER_AUTOCAST] =
                    "Trainer(precision='bf16-mixed'): outputs of matrix products and "
                    "convolutions in 16 bits",
                [LEVER_EVALUATION] = "a smaller batch_size of the validation's DataLoader, until "
                                     "a training step is the peak; most of the difference: ",
                [LEVER_ZERO_GRAD_EARLIER] =
                    "without gradient accumulation, free the gradients before the next forward: "
                    "def on_train_batch_end(self, *_): self.optimizers().zero_grad()",
            },
    };
    const bool by_hand = loop == LEVERS_LIGHTNING_BY_HAND;
    if (by_hand && (kind == LEVER_HALF_BATCH || kind == LEVER_ZERO_GRAD_EARLIER))
        return usual;
    const char *text = texts[by_hand ? LEVERS_LIGHTNING : loop][kind];
    return text ? text : usual;
}
