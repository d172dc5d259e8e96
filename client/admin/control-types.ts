/** The inputs of forms and filters, by the control that the schema names. */
import type { ElementAttributes } from './element.js'
import type { FieldInfo, KindInfo } from './schema.js'
import { translate } from './translate.js'

interface ControlType {
  /** Attributes of the `input`. */
  readonly input: ElementAttributes
  /** Attributes of the `textarea`, which the control has in place of an `input`. */
  readonly textarea?: ElementAttributes
  /** The values to choose from, with their labels. */
  readonly choices?: readonly ControlChoice[]
  /** Whether a filter offers "is not" and "is one of". */
  readonly comparesValues?: true
  /** The class of a range of values in a filter. */
  readonly rangeClass?: string
  /** The class of a cell in a list. */
  readonly cellClass?: string
  /** Whether values have the decimal sign of the page's language. */
  readonly isDecimal?: true
  /** Whether lists have no column for the field. */
  readonly isOnlyInForms?: true
}

type ControlChoice = readonly [value: string, label: string]

const line: ControlType = { input: { type: 'text', dir: 'auto' }, comparesValues: true }

const number = (inputmode: string): ControlType => ({
  input: { type: 'text', inputmode, class: 'number' },
  comparesValues: true,
  cellClass: 'number',
})

export const controlTypes: Readonly<Record<KindInfo['control'], ControlType>> = {
  line,
  lines: { input: line.input, textarea: { rows: 6 } },
  json: { input: line.input, textarea: { class: 'code' } },
  integer: number('numeric'),
  decimal: { ...number('decimal'), isDecimal: true },
  checkbox: {
    input: { type: 'checkbox' },
    choices: [
      ['true', translate('yes')],
      ['false', translate('no')],
    ],
  },
  date: { input: { type: 'date' }, comparesValues: true, cellClass: 'when' },
  time: { input: { type: 'time', step: 1 }, cellClass: 'when' },
  datetime: {
    input: { type: 'datetime-local', step: 1 },
    cellClass: 'when',
    rangeClass: 'range long',
  },
  file: { input: { type: 'file' }, isOnlyInForms: true },
}

/** The values that a field can have, or undefined if there are too many to choose from. */
export const choicesOf = ({
  kind,
  oneOf,
  labels = {},
}: FieldInfo): readonly ControlChoice[] | undefined =>
  controlTypes[kind.control].choices ??
  oneOf?.map((value) => [String(value), labels[String(value)] ?? String(value)])
