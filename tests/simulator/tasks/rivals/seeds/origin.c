/* atoll-plan {"version": 1, "launch": [{"function": "f", "units": "N", "args": ["x", "y"]}]} */
/* point 0 0 0  0 0 0 0 0 0  0 */
