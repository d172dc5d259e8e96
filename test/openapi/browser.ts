/** A real browser, out of an npm package. */
import { inflate } from '@sparticuz/chromium'
