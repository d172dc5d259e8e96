/** The conditions of a list, each with a button that removes it. */
import { el } from './element.js'
import { icon } from './icon.js'
import { describeConditions } from './filter.js'
import type { RecordInfo } from './schema.js'
import { translate } from './translate.js'

/** @param remove gets the parameters of a condition */
export async function makeFilterChips(
  record: RecordInfo,
  query: URLSearchParams,
  remove: (names: readonly string[]) => Promise<void>,
): Promise<HTMLLIElement[]> {
  const conditions = await describeConditions(record, query)
  return conditions.map(({ names, text }) => {
    const button = el(
      'button',
      {
        type: 'button',
        'aria-label': translate('removeName', { name: text }),
        onclick: () => remove(names),
      },
      icon('cross'),
    )
    return el('li', {}, text, button)
  })
}
