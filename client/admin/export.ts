/** A list as CSV: a link to an address of ours, which the browser saves. */
import { ask, byToken } from './ask.js'
import { el, icon } from './element.js'
import type { RecordInfo } from './schema.js'

/** @param address with the list's filter as it is now */
export function exportLink(address: () => string, record: RecordInfo): HTMLElement {
  const anchor = el(
    'a',
    {
      ...{ class: 'button quiet', href: address(), download: `${record.path}.csv` },
      onclick: async (event) => {
        anchor.href = address()
        // A link sends the cookie, but no token that scripts keep.
        if (!byToken()) return
        event.preventDefault()
        const { data } = await ask<string>('GET', address())
        const url = URL.createObjectURL(new Blob([data], { type: 'text/csv' }))
        el('a', { href: url, download: `${record.path}.csv` }).click()
        setTimeout(() => {
          URL.revokeObjectURL(url)
        }, 60_000)
      },
    },
    icon('out'),
    'Export CSV',
  )
  return anchor
}
