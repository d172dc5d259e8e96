/**
 * The global that the script `filigree/client/script` gives a page: `window.api`. Its code is built from `index.ts`.
 */
import type { Client } from './routes.js'

declare global {
  interface Window {
    /** The client that all scripts of a page share. */
    api: Client
  }
}
