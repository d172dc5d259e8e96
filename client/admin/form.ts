/** Forms for records and actions: they collect changes, show errors, and warn before unsaved changes are lost. */
import { request, rowsOf, fieldErrorsOf, errorText, type ServerFieldError } from './requests.js'
import { el, type Child } from './element.js'
import { showStatus, clearNotices, showError } from './notices.js'
import { go, link, pathTo, watchForm } from './navigation.js'
import {
  keyOf,
  titleOf,
  type RecordInfo,
  type PageRow,
  recordNamed,
  type FieldInfo,
  withLabel,
  fieldOf,
  isEditedInForm,
} from './schema.js'
import { readStored, toBody } from './stored-row.js'
import { openView, type PageView } from './view.js'
import { cancelButton, openDialog } from './dialog.js'
import { fingerprint } from './compare-values.js'
import { makeControl } from './field-controls.js'
import { joinPath, labelBelow, type Control } from './control.js'
import { parseInput } from './field-values.js'
import { makeControls, makeNestedControl } from './record-controls.js'
import { choiceOf, type RowChoice } from './titles.js'
import { translate } from './translate.js'

export interface Form {
  readonly node: HTMLFormElement
  readonly controls: readonly Control[]
  /** Shows a stored row. Only differences from this row count as changes. */
  readonly load: (row: PageRow) => void
  /** Writes initial values of a new row. They are sent, but leaving the form loses nothing. */
  readonly prefill: (values: PageRow) => void
  /** The changed values. For a new row: all values. */
  readonly read: () => PageRow
  /** Validates the controls, shows errors, and focuses the first one. @returns whether all are valid */
  readonly check: () => boolean
  /** Shows an error of the server, at its control if it has one. */
  readonly showError: (error: unknown) => void
}

export interface FormOptions {
  readonly isNew: boolean
  readonly isBulk?: boolean
  /** Names of fields to leave out. */
  readonly without?: readonly string[]
  /** Whether nested rows are part of the form. */
  readonly hasNested?: boolean
  /** Whether the user is warned before changes are lost. Default true. */
  readonly isGuarded?: boolean
  /** @param name the `name` of the pressed button */
  readonly onSubmit: (name: string) => Promise<void>
  readonly buttons: readonly Child[]
}

export function makeRecordForm(record: RecordInfo, options: FormOptions): Form {
  const { isNew, isBulk } = options
  const controls = makeControls(record, { isNew, isBulk, create: createInPlace }, options.without)
  if (options.hasNested === true)
    for (const relation of record.relations ?? []) {
      const target = recordNamed(relation.to)
      if (target !== undefined && isEditedInForm(relation))
        controls.push(makeNestedControl(relation, target))
    }
  return makeForm(controls, options)
}

/** The form of an action or of the sign-in. */
export function makeClassForm(fields: readonly FieldInfo[], options: FormOptions): Form {
  return makeForm(
    fields.map((field) => makeControl(field, { isNew: true })),
    options,
  )
}

function makeForm(controls: readonly Control[], options: FormOptions): Form {
  const { isNew, onSubmit } = options
  const currentValues = (): Map<string, string> =>
    new Map(controls.map((control) => [control.name, fingerprint(control.read())]))
  let original = new Map<string, string>()
  let stored = currentValues()
  let isBusy = false
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (isBusy) return
    clearNotices()
    const button = (event as SubmitEvent).submitter?.getAttribute('name') ?? ''
    isBusy = true
    const release = markBusy(node)
    try {
      await onSubmit(button)
    } finally {
      isBusy = false
      release()
    }
  }
  const node = el(
    'form',
    { novalidate: true, onsubmit: submit, 'data-saves': options.isGuarded !== false },
    el('div', { class: 'fields' }, ...controls.map((control) => control.node)),
    el('div', { class: 'buttons' }, ...options.buttons),
  )
  // All values of a new row are sent, but its initial values are not unsaved changes.
  if (!isNew || options.isBulk === true) original = stored
  if (options.isGuarded !== false)
    watchForm(node, () => [...currentValues()].some(([name, value]) => stored.get(name) !== value))
  /** @returns the messages, with labels in place of properties */
  const showFieldErrors = (errors: readonly ServerFieldError[]): string[] => {
    for (const control of controls) control.showError(undefined)
    const messages: string[] = []
    let first: Control | undefined
    for (const { path, message } of errors) {
      const control = controls.find(({ name }) => path === name || path.startsWith(`${name}.`))
      const inner = control === undefined ? '' : path.slice(control.name.length + 1)
      const label = control === undefined ? path : labelBelow(control, inner)
      messages.push(withLabel(message, path, label))
      control?.showError(messages.at(-1), inner)
      first ??= control
    }
    first?.focus()
    return messages
  }
  return {
    node,
    controls,
    load: (row) => {
      for (const control of controls) if (control.name in row) control.write(row[control.name])
      original = stored = currentValues()
    },
    prefill: (values) => {
      for (const control of controls)
        if (control.name in values) control.write(values[control.name])
      stored = currentValues()
    },
    read: () => {
      const changed = controls
        .map((control) => [control.name, control.read()] as const)
        .filter(([name, value]) => value !== undefined && original.get(name) !== fingerprint(value))
      return Object.fromEntries(changed)
    },
    check: () => {
      const errors = controls.flatMap((control) => {
        const changed = original.get(control.name) !== fingerprint(control.read())
        if (options.isBulk === true && !changed) return []
        const error = control.findError()
        if (error === undefined) return []
        const path = joinPath(control.name, error.path)
        const message = error.isComplete === true ? error.message : `${path} ${error.message}`
        return [{ path, message }]
      })
      const messages = showFieldErrors(errors)
      if (messages.length > 0) showError(toSentences(messages))
      return messages.length === 0
    },
    showError: (error) => {
      const messages = showFieldErrors(fieldErrorsOf(error))
      showError(messages.length > 0 ? toSentences(messages) : errorText(error))
    },
  }
}

const toSentences = (messages: readonly string[]): string => messages.join('; ')

/** Marks an element as busy and disables its buttons. @returns a function that ends this and restores the focus */
export function markBusy(element: HTMLElement): () => void {
  const focused = document.activeElement
  const buttons = [...element.querySelectorAll('button')].filter(({ disabled }) => !disabled)
  element.setAttribute('aria-busy', 'true')
  for (const button of buttons) button.disabled = true
  return () => {
    element.removeAttribute('aria-busy')
    for (const button of buttons) button.disabled = false
    const isFree = document.activeElement === document.body || document.activeElement === null
    if (isFree && focused instanceof HTMLElement && focused.isConnected) focused.focus()
  }
}

const createdText = (record: RecordInfo, row: PageRow): string =>
  translate('rowCreated', { one: record.one, title: titleOf(record, row) })

/** Creates a row of another record in a dialog, without leaving the form. */
function createInPlace(record: RecordInfo, done: (choice: RowChoice) => void): void {
  openDialog(translate('newRow', { one: record.one }), ({ close }) => {
    const form = makeRecordForm(record, {
      isNew: true,
      onSubmit: async () => {
        if (!form.check()) return
        try {
          const { data } = await request<PageRow>('POST', rowsOf(record), {
            body: toBody(record, form.read()),
          })
          close()
          showStatus(createdText(record, data))
          done(choiceOf(record, data))
        } catch (error) {
          form.showError(error)
        }
      },
      buttons: [
        el('button', { type: 'submit', class: 'main' }, translate('save')),
        cancelButton(close),
      ],
    })
    return [form.node]
  })
}

/** @param query values of the new row, by field: `orgId=7` */
export function showNew(record: RecordInfo, query: URLSearchParams): void {
  const view = openNewView(record)
  showNewForm(record, view, valuesOf(record, query))
}

/** Shows the form of a new row with the values and links of a stored one. Nested rows belong to the stored one. */
export async function showCopy(record: RecordInfo, key: string): Promise<void> {
  const view = openNewView(record)
  const { row } = await readStored(record, key)
  if (!view.isOpen()) return
  const nested = (record.relations ?? []).filter(isEditedInForm).map(({ name }) => name)
  const isCopied = ([name]: [string, unknown]): boolean =>
    name !== record.key && !nested.includes(name)
  showNewForm(record, view, Object.fromEntries(Object.entries(row).filter(isCopied)))
}

const openNewView = (record: RecordInfo): PageView =>
  openView(record, translate('newRow', { one: record.one }))

function showNewForm(record: RecordInfo, view: PageView, values: PageRow): void {
  const form = makeRecordForm(record, {
    isNew: true,
    hasNested: true,
    onSubmit: async (name) => {
      if (!form.check()) return
      try {
        const { data } = await request<PageRow>('POST', rowsOf(record), {
          body: toBody(record, form.read()),
        })
        if (name === 'another') showNewForm(record, openNewView(record), values)
        else go(pathTo(record.path, keyOf(record, data)))
        showStatus(createdText(record, data))
      } catch (error) {
        form.showError(error)
      }
    },
    buttons: [
      el('button', { type: 'submit', class: 'main' }, translate('save')),
      el('button', { type: 'submit', name: 'another' }, translate('saveAndNew')),
      link(pathTo(record.path), { class: 'button' }, translate('cancel')),
    ],
  })
  form.prefill(values)
  view.show(el('div', { class: 'card' }, form.node))
  form.controls[0]?.focus()
}

function valuesOf(record: RecordInfo, query: URLSearchParams): PageRow {
  const values: PageRow = {}
  for (const [name, text] of query) {
    const field = fieldOf(record, name)
    if (field === undefined || field.readOnly === true) continue
    values[name] = parseInput(field, text, true)
  }
  return values
}

/** Saves the open form with Ctrl+S, or Command+S on a Mac. */
document.addEventListener('keydown', (event) => {
  const isShortcut = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey
  if (!isShortcut || event.key.toLowerCase() !== 's') return
  event.preventDefault()
  const scope = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document
  const forms = [...scope.querySelectorAll<HTMLFormElement>('form[data-saves]')]
  forms.find((form) => form.checkVisibility())?.requestSubmit()
})
