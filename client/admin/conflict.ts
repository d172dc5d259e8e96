/** Resolves an edit conflict. For each field, the user chooses between both values and sees the previous value. */
import type { Control } from './control.js'
import { el, newId } from './element.js'
import { fieldOf, recordNamed, referredKey, type RecordInfo } from './schema.js'
import { cachedTitle, loadTitles } from './titles.js'
import { toFieldText } from './field-values.js'
import { translate } from './translate.js'

export interface FieldConflict {
  readonly control: Control
  readonly mine: unknown
  readonly theirs: unknown
  readonly before: unknown
}

export interface ConflictOptions {
  readonly save: (chosen: Record<string, unknown>) => Promise<void>
  readonly cancel: () => void
}

export function showConflict(
  record: RecordInfo,
  name: string,
  differences: readonly FieldConflict[],
  { save, cancel }: ConflictOptions,
): HTMLElement {
  const id = newId()
  const choices = differences.map((difference) => makeChoice(record, difference))
  return el(
    'section',
    { class: 'card conflict', 'aria-labelledby': id },
    el('h2', { id, tabindex: '-1' }, translate('conflict', { title: name })),
    el('p', {}, translate('conflictHelp', { one: record.one, count: differences.length })),
    el(
      'form',
      {
        onsubmit: async (event) => {
          event.preventDefault()
          await save(Object.fromEntries(choices.map(({ field, read }) => [field, read()])))
        },
      },
      ...choices.map(({ node }) => node),
      el(
        'div',
        { class: 'buttons' },
        el('button', { type: 'submit', class: 'main' }, translate('save')),
        el('button', { type: 'button', onclick: cancel }, translate('backToForm')),
      ),
    ),
  )
}

interface ChoiceOf {
  readonly field: string
  readonly read: () => unknown
  readonly node: HTMLElement
}

function makeChoice(record: RecordInfo, difference: FieldConflict): ChoiceOf {
  const { control, mine, theirs, before } = difference
  const group = newId()
  const [mineBox, theirsBox] = ['mine', 'theirs'].map((value) =>
    el('input', { type: 'radio', name: group, value, checked: value === 'mine' }),
  ) as [HTMLInputElement, HTMLInputElement]
  const option = (box: HTMLInputElement, word: string, value: unknown): HTMLElement =>
    el(
      'label',
      { class: 'choice' },
      box,
      el('span', { class: 'whose' }, `${word} `),
      valueNode(record, control.name, value),
    )
  return {
    field: control.name,
    read: () => (theirsBox.checked ? theirs : mine),
    node: el(
      'fieldset',
      {},
      el('legend', {}, control.label),
      option(mineBox, translate('mine'), mine),
      option(theirsBox, translate('theirs'), theirs),
      el(
        'p',
        { class: 'was' },
        el('span', { class: 'whose' }, `${translate('was')} `),
        valueNode(record, control.name, before),
      ),
    ),
  }
}

/** Formats a value. Keys are displayed as the titles of their rows. */
function valueNode(record: RecordInfo, name: string, value: unknown): HTMLElement {
  const field = fieldOf(record, name)
  const relation = record.relations?.find(
    (one) => one.ids === name || (one.kind === 'one' && one.by === name),
  )
  const target = relation && recordNamed(relation.to)
  const node = el('span', { class: 'value' }, toFieldText(field, value))
  if (target === undefined || value === null || value === undefined) return node
  const keys: unknown[] = Array.isArray(value) ? value : [referredKey(target, value)]
  const draw = (): void => {
    node.textContent = keys.map((key) => cachedTitle(target, key)).join(', ') || '–'
  }
  draw()
  loadTitles(target, keys)
    .then(draw)
    .catch(() => undefined)
  return node
}
