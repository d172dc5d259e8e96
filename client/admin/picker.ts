/**
 * Chooses rows of another record: a combobox that searches on the server, and a way to make a new row in place. Source: WAI-ARIA
 * Authoring Practices, combobox with a listbox; specification, Admin page 6.
 */
import { el, icon, listen, newId, replace, refuse } from './element.js'
import { may, type RecordInfo } from './schema.js'
import { findRows, knownTitle, lookUp, type Choice } from './titles.js'
import { lower } from './format.js'

export interface PickerOptions {
  readonly label: string
  readonly record: RecordInfo
  /** Id of the words that describe it. */
  readonly describedBy?: string
  readonly required?: boolean
  /** Called for each choice; null where the box was emptied. */
  readonly onPick: (choice: Choice | null) => void
  /** Makes a new row in a dialog. Without it there is none. */
  readonly create?: (record: RecordInfo, done: (choice: Choice) => void) => void
  /** The box is emptied after each choice: what is chosen stands elsewhere. */
  readonly isMany?: boolean
  /** What is chosen already is not offered again. */
  readonly isTaken?: (choice: Choice) => boolean
}

export interface Picker {
  readonly node: HTMLElement
  readonly input: HTMLInputElement
  readonly show: (key: string | number | null) => void
}

export function makePicker(options: PickerOptions): Picker {
  const { label, record, describedBy, required, onPick, create, isMany, isTaken } = options
  const list = el('ul', { role: 'listbox', id: newId(), 'aria-label': label, hidden: true })
  const input = el('input', {
    ...{ type: 'text', role: 'combobox', autocomplete: 'off', spellcheck: 'false' },
    ...{ 'aria-label': label, 'aria-expanded': 'false', 'aria-controls': list.id },
    ...{ 'aria-autocomplete': 'list', 'aria-describedby': describedBy },
    'aria-required': required === true ? 'true' : undefined,
    placeholder: `Find ${lower(record.one)}…`,
  })
  let choices: Choice[] = []
  let active = -1
  let chosen: Choice | null = null
  let asking: AbortController | undefined
  let isTyping = false
  let timer: ReturnType<typeof setTimeout> | undefined

  const close = (): void => {
    asking?.abort()
    clearTimeout(timer)
    list.hidden = true
    input.setAttribute('aria-expanded', 'false')
    input.removeAttribute('aria-activedescendant')
    active = -1
  }
  const mark = (index: number): void => {
    active = index
    for (const [at, option] of [...list.children].entries()) {
      option.setAttribute('aria-selected', String(at === index))
      if (at !== index) continue
      input.setAttribute('aria-activedescendant', option.id)
      option.scrollIntoView({ block: 'nearest' })
    }
  }
  const pick = (choice: Choice | null): void => {
    chosen = isMany === true ? null : choice
    input.value = chosen?.title ?? ''
    close()
    onPick(choice)
  }
  const open = async (): Promise<void> => {
    clearTimeout(timer)
    isTyping = false
    asking?.abort()
    const mine = (asking = new AbortController())
    const text = chosen !== null && input.value === chosen.title ? '' : input.value
    let found: Choice[]
    try {
      found = await findRows(record, text, mine.signal)
      if (isTaken !== undefined) found = found.filter((choice) => !isTaken(choice))
    } catch (error) {
      if (!mine.signal.aborted) throw error
      return
    }
    if (mine.signal.aborted || document.activeElement !== input) return
    choices = found
    const options = found.map((choice) =>
      el(
        'li',
        {
          ...{ role: 'option', id: newId(), 'aria-selected': 'false' },
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
      'Nothing found',
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
      open().catch(refuse)
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
    may(record, 'c') &&
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
      `New ${lower(record.one)}`,
    )
  const node = el('div', { class: 'picker' }, el('div', { class: 'combobox' }, input, list), button)
  const show = (key: string | number | null): void => {
    chosen = key === null ? null : { key, title: knownTitle(record, key) }
    input.value = chosen?.title ?? ''
    if (key === null) return
    lookUp(record, [key])
      .then(() => {
        if (chosen?.key !== key) return
        const untouched = input.value === chosen.title
        chosen = { key, title: knownTitle(record, key) }
        if (untouched) input.value = chosen.title
      })
      .catch(refuse)
  }
  return { node, input, show }
}
