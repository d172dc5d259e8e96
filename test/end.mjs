/** Runs once after the last Jest suite. */
export { end as default } from './start.mjs'
