/**
 * Unpacks the browser once, before any test: its package unpacks it when it is first asked for, and suites that ask at
 * the same time would start a file that is still being written (`spawn ETXTBSY`).
 */
import chromium from '@sparticuz/chromium'

export default async function extractChromium() {
  await chromium.executablePath()
}
