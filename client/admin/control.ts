/** What every control of a form is: a label, a box, the words below it, and a value that the server takes. */
import { el, newId, type Child } from './element.js'
import type { PickerOptions } from './picker.js'

export interface Control {
  /** The property that a write names. */
  readonly name: string
  readonly label: string
  readonly node: HTMLElement
  /** What is focused for a fault. */
  readonly focus: () => void
  /** Undefined where nothing was given. */
  readonly read: () => unknown
  readonly write: (value: unknown) => void
  /** Follows the label; undefined takes it away. @param path of the fault, below the property */
  readonly say: (fault: string | undefined, path?: string) => void
  /** What the rules say, `must be an integer`, with the path below the property. */
  readonly check: (isNew: boolean) => { path: string; fault: string } | undefined
}

export interface ControlOptions {
  readonly isNew: boolean
  /** A bulk edit: nothing is chosen at first, and nothing is required. */
  readonly isLoose?: boolean
  readonly create?: PickerOptions['create']
}

/** A label, the control and the words below it. */
export function frame(
  field: { label: string; help?: string; required?: boolean; isWide?: boolean },
  make: (ids: { id: string; describedBy: string }) => { content: Child; box: HTMLElement },
): { node: HTMLElement; box: HTMLElement; say: (fault?: string) => void } {
  const [id, faultId, helpId] = [newId(), newId(), newId()]
  const fault = el('p', { class: 'fault', id: faultId })
  const describedBy = field.help === undefined ? faultId : `${helpId} ${faultId}`
  const { content, box } = make({ id, describedBy })
  const node = el(
    'div',
    { class: field.isWide === true ? 'field wide' : 'field' },
    el('label', { for: box.id === '' ? id : box.id }, field.label, star(field.required)),
    content,
    field.help !== undefined && el('p', { class: 'help', id: helpId }, field.help),
    fault,
  )
  const say = (words?: string): void => {
    fault.textContent = words ?? ''
    if (words === undefined) box.removeAttribute('aria-invalid')
    else box.setAttribute('aria-invalid', 'true')
  }
  return { node, box, say }
}

export const star = (required?: boolean): Child =>
  required === true && el('span', { class: 'star', 'aria-hidden': 'true' }, ' *')

/** By which two values are told apart. */
export const stamp = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value))

export const byText = (one: unknown, other: unknown): number =>
  String(one) < String(other) ? -1 : 1
