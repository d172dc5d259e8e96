/** The conditions of a list, each with a button that removes it. */
import { el } from './element.js'
import { icon } from './icon.js'
import { describeCondition, filterNames } from './filter.js'
import type { RecordInfo } from './schema.js'
import { translate } from './translate.js'

export const makeFilterChips = (
  record: RecordInfo,
  query: URLSearchParams,
  remove: (name: string) => Promise<void>,
): Promise<HTMLLIElement[]> =>
  Promise.all(
    filterNames(query).map(async (name) => {
      const text = await describeCondition(record, name, query.getAll(name).join(','))
      const button = el(
        'button',
        {
          type: 'button',
          'aria-label': translate('removeName', { name: text }),
          onclick: () => remove(name),
        },
        icon('cross'),
      )
      return el('li', {}, text, button)
    }),
  )
