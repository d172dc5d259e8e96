/** A form of controls: what was changed in it, its faults, and the rows that belong to the row. */
import { ask, rowsOf, faultsOf, faultText, type Fault } from './requests.js'
import { el, say, type Child, hush, refuse } from './element.js'
import { go, link, pathTo, watch } from './navigation.js'
import { keyOf, titleOf, type RecordInfo, type Row, recordNamed, type FieldInfo } from './schema.js'
import { openView } from './view.js'
import { lower } from './format.js'
import { cancel, openDialog } from './dialog.js'
import { stamp, type Control, makeControl } from './field-controls.js'
import { makeControls, makeNested } from './record-controls.js'
import { keep, type Choice } from './titles.js'

export interface Form {
  readonly node: HTMLFormElement
  readonly controls: readonly Control[]
  /** Shows a row as stored: from now on only what differs from it is a change. */
  readonly load: (row: Row) => void
  /** What was changed; of a new row all that was given. */
  readonly read: () => Row
  /** Says the first fault of each control, and goes to it. False if there is one. */
  readonly check: () => boolean
  /** Says what the server refused, at its control where it has one. */
  readonly refuse: (error: unknown) => void
}

export interface FormOptions {
  readonly isNew: boolean
  readonly isLoose?: boolean
  /** Fields that are not shown. */
  readonly without?: readonly string[]
  /** With the rows that belong to it. */
  readonly hasNested?: boolean
  /** Whoever leaves it is asked, once something was changed. */
  readonly isKept?: boolean
  readonly onSubmit: () => Promise<void>
  readonly buttons: readonly Child[]
}

export function makeRecordForm(record: RecordInfo, options: FormOptions): Form {
  const { isNew, isLoose } = options
  const controls = makeControls(record, { isNew, isLoose, create: createInPlace }, options.without)
  if (options.hasNested === true)
    for (const relation of record.relations ?? []) {
      const target = recordNamed(relation.to)
      if (relation.kind === 'many' && relation.nested === true && target !== undefined)
        controls.push(makeNested(relation, target))
    }
  return makeForm(controls, options)
}

/** The form of an action, or of the sign-in. */
export function makeClassForm(fields: readonly FieldInfo[], options: FormOptions): Form {
  return makeForm(
    fields.map((field) => makeControl(field, { isNew: true })),
    options,
  )
}

function makeForm(controls: readonly Control[], options: FormOptions): Form {
  const { isNew, onSubmit } = options
  const now = (): Map<string, string> =>
    new Map(controls.map((control) => [control.name, stamp(control.read())]))
  let before = new Map<string, string>()
  let stored = now()
  let isBusy = false
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (isBusy) return
    hush()
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
  // Of a new row all is a change for the server, but what it begins with is nothing that one would lose.
  if (!isNew || options.isLoose === true) before = stored
  if (options.isKept !== false)
    watch(node, () => [...now()].some(([name, value]) => stored.get(name) !== value))
  const tell = (faults: readonly Fault[]): Fault[] => {
    for (const control of controls) control.say(undefined)
    const others: Fault[] = []
    let first: Control | undefined
    for (const fault of faults) {
      const control = controls.find(
        ({ name }) => fault.path === name || fault.path.startsWith(`${name}.`),
      )
      control?.say(fault.message, fault.path.slice(control.name.length + 1))
      if (control === undefined) others.push(fault)
      first ??= control
    }
    first?.focus()
    return others
  }
  return {
    node,
    controls,
    load: (row) => {
      for (const control of controls) if (control.name in row) control.write(row[control.name])
      before = stored = now()
    },
    read: () => {
      const changed = controls
        .map((control) => [control.name, control.read()] as const)
        .filter(([name, value]) => value !== undefined && before.get(name) !== stamp(value))
      return Object.fromEntries(changed)
    },
    check: () => {
      const faults = controls.flatMap((control) => {
        const changed = before.get(control.name) !== stamp(control.read())
        if (options.isLoose === true && !changed) return []
        const found = control.check(isNew)
        if (found === undefined) return []
        const path = [control.name, found.path].filter((part) => part !== '').join('.')
        return [{ path, message: `${path} ${found.fault}` }]
      })
      tell(faults)
      if (faults.length > 0) refuse(faults.map(({ message }) => message).join('; '))
      return faults.length === 0
    },
    refuse: (error) => {
      const faults = faultsOf(error)
      tell(faults)
      refuse(faultText(error))
    },
  }
}

/** Makes a row of another record in a dialog, without leaving the form. */
function createInPlace(record: RecordInfo, done: (choice: Choice) => void): void {
  openDialog(`New ${lower(record.one)}`, ({ close }) => {
    const form = makeRecordForm(record, {
      isNew: true,
      onSubmit: async () => {
        if (!form.check()) return
        try {
          const { data } = await ask<Row>('POST', rowsOf(record), { body: form.read() })
          close()
          say(`${record.one} “${titleOf(record, data)}” was created.`)
          done(keep(record, data))
        } catch (error) {
          form.refuse(error)
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
        const { data } = await ask<Row>('POST', rowsOf(record), { body: form.read() })
        go(pathTo(record.path, keyOf(record, data)))
        say(`${record.one} “${titleOf(record, data)}” was created.`)
      } catch (error) {
        form.refuse(error)
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
