"""One word for what a problem mostly does."""

FAMILIES = (("attention", {"_scaled_dot_product_attention_math", "_scaled_dot_product_efficient_attention",
                           "_scaled_dot_product_flash_attention", "_scaled_dot_product_fused_attention_overrideable"}),
            ("rnn", {"lstm", "gru", "rnn_tanh", "rnn_relu", "_thnn_fused_lstm_cell", "mkldnn_rnn_layer"}),
            ("convolution", {"convolution", "_convolution"}),
            ("matmul", {"mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "dot", "matmul"}),
            ("norm", {"native_batch_norm", "native_layer_norm", "native_group_norm", "_native_batch_norm_legit",
                      "_native_batch_norm_legit_functional", "linalg_vector_norm", "norm", "rsqrt",
                      "_native_batch_norm_legit_no_training"}),
            ("pool", {"max_pool2d_with_indices", "max_pool3d_with_indices", "avg_pool2d", "avg_pool3d",
                      "_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "max_pool2d"}),
            ("softmax", {"_softmax", "_log_softmax"}),
            ("scan", {"cumsum", "cumprod"}),
            ("reduction", {"sum", "mean", "amax", "amin", "max", "min", "argmax", "argmin", "prod", "logsumexp", "std", "var"}))


def category_of(names, level):
    """One word: the family of the dearest operator; of whole networks, that they are such."""
    ran = {n.rstrip("_") for n in names}
    if level == 3 and len(names) > 60:
        softmax = "_softmax" in ran and {"bmm", "baddbmm"} & ran
        return "transformer" if softmax else "rnn" if "convolution" not in ran else "network"
    if "_softmax" in ran and len([n for n in names if n in ("bmm", "baddbmm")]) >= 2:
        return "attention"
    for family, members in FAMILIES:
        if members & ran:
            return family
    return "elementwise"
