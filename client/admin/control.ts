/** What all form controls have in common: their functions, and the label, help and error around an input. */
import { el, newId, type Child } from './element.js'
import type { PickerOptions } from './picker.js'
import { translate } from './translate.js'

export interface Control {
  /** The property in the body of a write. */
  readonly name: string
  readonly label: string
  readonly node: HTMLElement
  /** Focuses the control to show an error. */
  readonly focus: () => void
  /** The value, or undefined if nothing was entered. */
  readonly read: () => unknown
  readonly write: (value: unknown) => void
  /** Shows an error, or removes it for undefined. @param path the path below the property */
  readonly showError: (message: string | undefined, path?: string) => void
  /** The label at a path below the property. Default: the label of the control. */
  readonly labelAt?: (path: string) => string
  /** Validates the value. */
  readonly findError: () => ControlError | undefined
}

export interface ControlError {
  /** The path below the property, or empty. */
  readonly path: string
  /** A text that follows the label: `must be an integer`. */
  readonly message: string
  /** The message is complete: the application's own words. */
  readonly isComplete?: boolean
}

export interface ControlOptions {
  readonly isNew: boolean
  /** Whether the form edits many rows: all controls start empty and nothing is required. */
  readonly isBulk?: boolean
  readonly create?: PickerOptions['create']
}

export interface LabelledFieldOptions {
  readonly label: string
  readonly help?: string | undefined
  readonly required?: boolean
  readonly isWide?: boolean
}

/**
 * Wraps an input, `box`, with its label, help and error.
 *
 * @param make creates the input, and the content that contains it
 */
export function labelledField<Box extends HTMLElement>(
  field: LabelledFieldOptions,
  make: (ids: { id: string; describedBy: string }) => { content: Child; box: Box },
): { node: HTMLElement; box: Box; showError: (message?: string) => void } {
  const [id, errorId, helpId] = [newId(), newId(), newId()]
  const errorNode = el('p', { class: 'field-error', id: errorId })
  const describedBy = field.help === undefined ? errorId : `${helpId} ${errorId}`
  const { content, box } = make({ id, describedBy })
  const node = el(
    'div',
    { class: field.isWide === true ? 'field wide' : 'field' },
    el('label', { for: id }, field.label, star(field.required)),
    content,
    field.help !== undefined && el('p', { class: 'help', id: helpId }, field.help),
    errorNode,
  )
  const showError = (message?: string): void => {
    errorNode.textContent = message ?? ''
    if (message === undefined) box.removeAttribute('aria-invalid')
    else box.setAttribute('aria-invalid', 'true')
  }
  return { node, box, showError }
}

export const star = (required?: boolean): Child =>
  required === true && el('span', { class: 'star', 'aria-hidden': 'true' }, ' *')

/** The label at a path below a control. The lines of a list are counted from 1. */
export function labelBelow({ label, labelAt }: Control, path: string): string {
  if (/^\d+$/.test(path)) return translate('line', { label, number: Number(path) + 1 })
  return path === '' ? label : (labelAt?.(path) ?? label)
}

/** The path of a value below another one. Both may be empty. */
export const joinPath = (...parts: readonly (string | number)[]): string =>
  parts.filter((part) => part !== '').join('.')
