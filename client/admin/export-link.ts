/** The link that downloads a list as CSV. */
import { el } from './element.js'
import { icon } from './icon.js'
import { request, usesStoredToken } from './requests.js'
import type { RecordInfo } from './schema.js'
import { translate } from './translate.js'

/** @param address returns the URL with the current filter */
export function exportLink(address: () => string, record: RecordInfo): HTMLElement {
  const anchor = el(
    'a',
    {
      class: 'button quiet',
      href: address(),
      download: `${record.path}.csv`,
      onclick: async (event) => {
        anchor.href = address()
        // A link sends the cookie, but not a token from the local storage.
        if (!usesStoredToken()) return
        event.preventDefault()
        const { data } = await request<string>('GET', address())
        const url = URL.createObjectURL(new Blob([data], { type: 'text/csv' }))
        el('a', { href: url, download: `${record.path}.csv` }).click()
        setTimeout(() => {
          URL.revokeObjectURL(url)
        }, 60_000)
      },
    },
    icon('export'),
    translate('exportCsv'),
  )
  return anchor
}
