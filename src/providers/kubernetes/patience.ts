/** Longest time for one call to the API, tries on other API servers included: a hung server must not hang a rollout. */
export const REQUEST_MS = 10_000

/** How long an API server may keep silent, or a connection take, before another one is asked instead. */
export const PATIENCE_MS = 3_000
