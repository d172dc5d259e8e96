/** Forms for records and actions: they collect changes, show errors, and warn before unsaved changes are lost. */
import { request, rowsOf, fieldErrorsOf, errorText, type FieldError } from './requests.js'
import { el, showStatus, type Child, clearNotices, showError } from './element.js'
import { go, link, pathTo, watchForm } from './navigation.js'
import { keyOf, titleOf, type RecordInfo, type Row, recordNamed, type FieldInfo } from './schema.js'
import { openView } from './view.js'
import { lower } from './format.js'
import { cancel, openDialog } from './dialog.js'
import { fingerprint, type Control, makeControl } from './field-controls.js'
import { makeControls, makeNestedControl } from './record-controls.js'
import { cacheTitle, type Choice } from './titles.js'

export interface Form {
  readonly node: HTMLFormElement
  readonly controls: readonly Control[]
  /** Shows a stored row. Only differences from this row count as changes. */
  readonly load: (row: Row) => void
  /** The changed values. For a new row: all values. */
  readonly read: () => Row
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
  readonly onSubmit: () => Promise<void>
  readonly buttons: readonly Child[]
}

export function makeRecordForm(record: RecordInfo, options: FormOptions): Form {
  const { isNew, isBulk: isBulk } = options
  const controls = makeControls(
    record,
    { isNew, isBulk: isBulk, create: createInPlace },
    options.without,
  )
  if (options.hasNested === true)
    for (const relation of record.relations ?? []) {
      const target = recordNamed(relation.to)
      if (relation.kind === 'many' && relation.nested === true && target !== undefined)
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
    isBusy = true
    node.setAttribute('aria-busy', 'true')
    try {
      await onSubmit()
    } finally {
      isBusy = false
      node.removeAttribute('aria-busy')
    }
  }
  const node = el(
    'form',
    { novalidate: true, onsubmit: submit },
    el('div', { class: 'fields' }, ...controls.map((control) => control.node)),
    el('div', { class: 'buttons' }, ...options.buttons),
  )
  // All values of a new row are sent, but its initial values are not unsaved changes.
  if (!isNew || options.isBulk === true) original = stored
  if (options.isGuarded !== false)
    watchForm(node, () => [...currentValues()].some(([name, value]) => stored.get(name) !== value))
  const showFieldErrors = (errors: readonly FieldError[]): FieldError[] => {
    for (const control of controls) control.showError(undefined)
    const otherErrors: FieldError[] = []
    let first: Control | undefined
    for (const error of errors) {
      const control = controls.find(
        ({ name }) => error.path === name || error.path.startsWith(`${name}.`),
      )
      control?.showError(error.message, error.path.slice(control.name.length + 1))
      if (control === undefined) otherErrors.push(error)
      first ??= control
    }
    first?.focus()
    return otherErrors
  }
  return {
    node,
    controls,
    load: (row) => {
      for (const control of controls) if (control.name in row) control.write(row[control.name])
      original = stored = currentValues()
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
        const controlError = control.check(isNew)
        if (controlError === undefined) return []
        const path = [control.name, controlError.path].filter((part) => part !== '').join('.')
        return [{ path, message: `${path} ${controlError.error}` }]
      })
      showFieldErrors(errors)
      if (errors.length > 0) showError(errors.map(({ message }) => message).join('; '))
      return errors.length === 0
    },
    showError: (error) => {
      const errors = fieldErrorsOf(error)
      showFieldErrors(errors)
      showError(errorText(error))
    },
  }
}

/** Creates a row of another record in a dialog, without leaving the form. */
function createInPlace(record: RecordInfo, done: (choice: Choice) => void): void {
  openDialog(`New ${lower(record.one)}`, ({ close }) => {
    const form = makeRecordForm(record, {
      isNew: true,
      onSubmit: async () => {
        if (!form.check()) return
        try {
          const { data } = await request<Row>('POST', rowsOf(record), { body: form.read() })
          close()
          showStatus(`${record.one} “${titleOf(record, data)}” was created.`)
          done(cacheTitle(record, data))
        } catch (error) {
          form.showError(error)
        }
      },
      buttons: [el('button', { type: 'submit', class: 'main' }, 'Save'), cancel(close)],
    })
    return [form.node]
  })
}

export function showNew(record: RecordInfo): void {
  const view = openView(record, `New ${lower(record.one)}`)
  const form = makeRecordForm(record, {
    isNew: true,
    hasNested: true,
    onSubmit: async () => {
      if (!form.check()) return
      try {
        const { data } = await request<Row>('POST', rowsOf(record), { body: form.read() })
        go(pathTo(record.path, keyOf(record, data)))
        showStatus(`${record.one} “${titleOf(record, data)}” was created.`)
      } catch (error) {
        form.showError(error)
      }
    },
    buttons: [
      el('button', { type: 'submit', class: 'main' }, 'Save'),
      link(pathTo(record.path), { class: 'button' }, 'Cancel'),
    ],
  })
  view.show(el('div', { class: 'card' }, form.node))
  form.controls[0]?.focus()
}
