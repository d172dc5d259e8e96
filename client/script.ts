/** What the script `filigree/client/script` gives a page: `window.api`. Its code is built from `index.ts`. */
import type { Client } from './routes.js'

declare global {
  interface Window {
    /** The client a page shares. */
    api: Client
  }
}
