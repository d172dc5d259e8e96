/** A combobox that finds rows of another record on the server, and can create a new row (WAI-ARIA: combobox with listbox). */
import { el, listen, newId, replace } from './element.js'
import { icon } from './icon.js'
import { markOption } from './list-box.js'
import { showError } from './notices.js'
import { may, type RecordInfo } from './schema.js'
import { findRows, cachedTitle, loadTitles, type RowChoice, type RowFilter } from './titles.js'
import { translate } from './translate.js'

export interface PickerOptions {
  readonly label: string
  readonly record: RecordInfo
  /** The id of the element that describes the picker. */
  readonly describedBy?: string
  readonly required?: boolean
  /** Called for each choice, with null if the input was cleared. */
  readonly onPick: (choice: RowChoice | null) => void
  /** Creates a new row in a dialog. Without it, the picker has no button for a new row. */
  readonly create?: (record: RecordInfo, done: (choice: RowChoice) => void) => void
  /** Whether the input is cleared after each choice, because chosen rows are shown elsewhere. */
  readonly isMany?: boolean
  /** Conditions for the rows that are offered, by field of their record. */
  readonly conditions?: () => RowFilter
  /** Rows for which this returns true are not offered. */
  readonly isExcluded?: (choice: RowChoice) => boolean
}

export interface Picker {
  readonly node: HTMLElement
  readonly input: HTMLInputElement
  readonly show: (key: string | number | null) => void
}

export function makePicker(options: PickerOptions): Picker {
  const { label, record, describedBy, required, onPick, create, isMany, conditions, isExcluded } =
    options
  const list = el('ul', { role: 'listbox', id: newId(), 'aria-label': label, hidden: true })
  const input = el('input', {
    type: 'text',
    role: 'combobox',
    autocomplete: 'off',
    spellcheck: 'false',
    dir: 'auto',
    'aria-label': label,
    'aria-expanded': 'false',
    'aria-controls': list.id,
    'aria-autocomplete': 'list',
    'aria-describedby': describedBy,
    'aria-required': required === true ? 'true' : undefined,
    placeholder: translate('pickerHint', { one: record.one }),
  })
  let choices: RowChoice[] = []
  let active = -1
  let chosen: RowChoice | null = null
  let search: AbortController | undefined
  let isTyping = false
  let timer: ReturnType<typeof setTimeout> | undefined

  const close = (): void => {
    search?.abort()
    clearTimeout(timer)
    list.hidden = true
    input.setAttribute('aria-expanded', 'false')
    input.removeAttribute('aria-activedescendant')
    active = -1
  }
  const mark = (index: number): void => {
    active = index
    markOption(input, list, index)
  }
  const pick = (choice: RowChoice | null): void => {
    chosen = isMany === true ? null : choice
    input.value = chosen?.title ?? ''
    close()
    onPick(choice)
  }
  const open = async (): Promise<void> => {
    clearTimeout(timer)
    isTyping = false
    search?.abort()
    const controller = (search = new AbortController())
    const text = chosen !== null && input.value === chosen.title ? '' : input.value
    let found: RowChoice[]
    try {
      found = await findRows(record, text, controller.signal, conditions?.())
      if (isExcluded !== undefined) found = found.filter((choice) => !isExcluded(choice))
    } catch (error) {
      if (!controller.signal.aborted) throw error
      return
    }
    if (controller.signal.aborted || document.activeElement !== input) return
    choices = found
    const options = found.map((choice) =>
      el(
        'li',
        {
          role: 'option',
          id: newId(),
          dir: 'auto',
          'aria-selected': 'false',
          onmousedown: (event) => {
            event.preventDefault()
            pick(choice)
          },
        },
        choice.title,
      ),
    )
    const none = el(
      'li',
      { role: 'option', 'aria-disabled': 'true', class: 'none' },
      translate('nothingFound'),
    )
    replace(list, ...(options.length === 0 ? [none] : options))
    list.hidden = false
    input.setAttribute('aria-expanded', 'true')
    input.removeAttribute('aria-activedescendant')
    active = -1
    if (text !== '' && found.length > 0) mark(0)
  }
  listen(input, 'input', () => {
    isTyping = true
    clearTimeout(timer)
    timer = setTimeout(() => {
      open().catch(showError)
    }, 150)
  })
  listen(input, 'click', () => list.hidden && open())
  listen(input, 'keydown', async (event) => {
    const { key } = event as KeyboardEvent
    if (key === 'ArrowDown' || key === 'ArrowUp') {
      event.preventDefault()
      if (list.hidden) await open()
      const count = choices.length
      if (count > 0)
        mark((active + (key === 'ArrowDown' ? 1 : active < 0 ? 0 : -1) + count) % count)
    } else if (key === 'Enter' && (!list.hidden || input.value !== (chosen?.title ?? ''))) {
      // What was typed is meant, also before its rows are there.
      event.preventDefault()
      if (list.hidden || isTyping) await open()
      const choice = choices[active]
      if (choice !== undefined) pick(choice)
    } else if (key === 'Escape' && !list.hidden) {
      event.preventDefault()
      event.stopPropagation()
      close()
    }
  })
  listen(input, 'blur', () => {
    close()
    if (isMany === true) input.value = ''
    else if (input.value.trim() === '' && chosen !== null) pick(null)
    else input.value = chosen?.title ?? ''
  })

  const button =
    create !== undefined &&
    may(record, 'create') &&
    el(
      'button',
      {
        type: 'button',
        onclick: () => {
          create(record, (choice) => {
            pick(choice)
          })
        },
      },
      icon('plus'),
      translate('newRow', { one: record.one }),
    )
  const node = el('div', { class: 'picker' }, el('div', { class: 'combobox' }, input, list), button)
  const show = (key: string | number | null): void => {
    chosen = key === null ? null : { key, title: cachedTitle(record, key) }
    input.value = chosen?.title ?? ''
    if (key === null) return
    loadTitles(record, [key])
      .then(() => {
        if (chosen?.key !== key) return
        const untouched = input.value === chosen.title
        chosen = { key, title: cachedTitle(record, key) }
        if (untouched) input.value = chosen.title
      })
      .catch(showError)
  }
  return { node, input, show }
}
