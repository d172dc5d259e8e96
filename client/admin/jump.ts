/** The jump dialog: lists, pages, new rows, and rows by their titles. */
import { openDialog } from './dialog.js'
import { el, listen, newId, replace } from './element.js'
import { markOption } from './list-box.js'
import { showError } from './notices.js'
import { confirmLeave, go, pathTo } from './navigation.js'
import { api, request } from './requests.js'
import { may, recordAt, schema } from './schema.js'
import { translate } from './translate.js'

interface Target {
  readonly text: string
  /** What the target is: the name of its record. */
  readonly hint: string
  readonly path: string
}

interface JumpTarget {
  readonly record: string
  readonly key: string | number
  readonly title: string
}

/** Milliseconds after the last keystroke, before rows are searched. */
const delay = 200

const maxTargets = 12

/** The lists and pages, and the forms of new rows. */
function fixedTargets(): Target[] {
  const { records = [], pages = [] } = schema() ?? {}
  return [
    ...records.map(({ label, group = '', path }) => ({
      text: label,
      hint: group,
      path: pathTo(path),
    })),
    ...pages.map(({ title, path }) => ({ text: title, hint: '', path: pathTo(path) })),
    ...records
      .filter((record) => may(record, 'create'))
      .map(({ one, path }) => ({
        text: translate('newRow', { one }),
        hint: '',
        path: pathTo(path, 'new'),
      })),
  ]
}

/** Whether each word of the query begins a word of the text. */
function matches(text: string, query: string): boolean {
  const words = text.toLowerCase().split(/[^\p{L}\p{N}]+/u)
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((part) => words.some((word) => word.startsWith(part)))
}

async function findRows(text: string, signal: AbortSignal): Promise<Target[]> {
  const { data } = await request<JumpTarget[]>('GET', api('jump'), { params: { text }, signal })
  return data.flatMap(({ record, key, title }) => {
    const found = recordAt(record)
    if (found === undefined) return []
    const { one } = found
    return { text: title, hint: one, path: pathTo(record, String(key)) }
  })
}

export function openJump(): void {
  const listId = newId()
  const list = el('ul', { role: 'listbox', id: listId, 'aria-label': translate('jump') })
  const box = el('input', {
    // A search box would clear its text by Escape, and not close the dialog.
    type: 'text',
    role: 'combobox',
    'aria-label': translate('jump'),
    'aria-expanded': 'true',
    'aria-controls': listId,
    'aria-autocomplete': 'list',
    placeholder: translate('jumpHelp'),
    autocomplete: 'off',
    dir: 'auto',
  })
  const empty = el('p', { role: 'status', class: 'quiet-words' })
  const fixed = fixedTargets()
  let search = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let targets: readonly Target[] = []
  let active = 0

  const select = (index: number): void => {
    active = index
    markOption(box, list, index)
  }
  const open = async (target: Target | undefined): Promise<void> => {
    if (target === undefined) return
    dialog.close()
    if (await confirmLeave()) go(target.path)
  }
  const show = (shown: readonly Target[], isComplete: boolean): void => {
    targets = shown
    box.removeAttribute('aria-activedescendant')
    const options = targets.map((target) =>
      el(
        'li',
        { role: 'option', id: newId(), onclick: () => open(target) },
        el('span', { dir: 'auto' }, target.text),
        target.hint !== '' && el('span', { class: 'hint' }, target.hint),
      ),
    )
    replace(list, ...options)
    list.hidden = targets.length === 0
    empty.textContent = targets.length === 0 && isComplete ? translate('nothingFound') : ''
    select(0)
  }
  const find = (): void => {
    clearTimeout(timer)
    search.abort()
    search = new AbortController()
    const { signal } = search
    const text = box.value.trim()
    const known = fixed
      .filter((target) => text === '' || matches(target.text, text))
      .slice(0, maxTargets)
    show(known, text === '')
    if (text.length < 2) return
    timer = setTimeout(() => {
      findRows(text, signal)
        .then((rows) => {
          if (!signal.aborted) show([...known, ...rows], true)
        })
        .catch(showError)
    }, delay)
  }
  listen(box, 'input', find)
  listen(box, 'keydown', async (event) => {
    const { key } = event as KeyboardEvent
    const step = key === 'ArrowDown' ? 1 : key === 'ArrowUp' ? -1 : 0
    if (step !== 0 && targets.length > 0) {
      event.preventDefault()
      select((active + step + targets.length) % targets.length)
    }
    if (key !== 'Enter') return
    event.preventDefault()
    await open(targets[active])
  })
  const dialog = openDialog(
    translate('jump'),
    () => [el('div', { class: 'jump-to' }, box, list, empty)],
    () => {
      clearTimeout(timer)
      search.abort()
    },
  )
  find()
}
