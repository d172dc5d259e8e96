/** What Jest does once, behind the last suite. */
export { end as default } from './start.mjs'
