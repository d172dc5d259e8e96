/** The application's own words for the rules of a field: `messages` of `@Field`. Source: decisions, Validation and fields. */
import { didYouMean } from '../errors/did-you-mean.js'
import type { Problems } from '../errors/problems.js'
import type { FieldMetadata } from './field.js'
import type { MessageRule } from './rules.js'

/** The complete messages of a field, by rule. */
export type RuleMessages = Readonly<Partial<Record<MessageRule, string>>>

/** By rule: whether a field with these rules can violate it. */
const canViolate: Readonly<Record<MessageRule, (rules: FieldMetadata['rules']) => boolean>> = {
  required: ({ optional, default: value }) => optional !== true && value === undefined,
  type: () => true,
  min: ({ min }) => min !== undefined,
  max: ({ max }) => max !== undefined,
  minLength: ({ minLength }) => minLength !== undefined,
  maxLength: ({ maxLength }) => maxLength !== undefined,
  pattern: ({ pattern }) => pattern !== undefined,
  format: ({ format }) => format !== undefined,
  oneOf: ({ oneOf }) => oneOf !== undefined,
  minItems: ({ minItems }) => minItems !== undefined,
  maxItems: ({ maxItems }) => maxItems !== undefined,
  unique: ({ unique }) => unique !== undefined && unique !== false,
}

const none: RuleMessages = Object.freeze({})

/**
 * Calls the functions of `messages` with the values of their rules.
 *
 * @param kind the operand of `type`
 * @param rules valid ones
 */
export function readMessages(
  kind: string,
  rules: FieldMetadata['rules'],
  problems: Problems,
): RuleMessages {
  const { messages } = rules
  if (messages === undefined) return none
  const known = Object.keys(canViolate).filter((rule) => canViolate[rule as MessageRule](rules))
  const read = new Map<string, string>()
  for (const [rule, declared] of Object.entries(messages as Record<string, unknown>)) {
    if (declared === undefined) continue
    if (!known.includes(rule)) {
      problems.add({
        code: 'FIELD_RULE_UNKNOWN',
        message: `messages: the field has no rule "${rule}".`,
        remedy: `${didYouMean(rule, known)} Its rules: ${known.join(', ')}.`.trim(),
      })
      continue
    }
    const text = textOf(declared, { ...rules, required: true, type: kind }[rule])
    if (text === undefined) addUnreadable(rule, problems)
    else read.set(rule, text)
  }
  return Object.freeze(Object.fromEntries(read))
}

function addUnreadable(rule: string, problems: Problems): void {
  problems.add({
    code: 'FIELD_RULE_VALUE',
    message: `messages: "${rule}" needs a text, or a function that returns one.`,
    remedy: 'Write messages: { min: (min) => `At least ${min} pieces.` }.',
  })
}

/** @returns undefined if the function throws, or if it is not a text */
function textOf(declared: unknown, operand: unknown): string | undefined {
  try {
    const text: unknown =
      typeof declared === 'function' ? (declared as (value: unknown) => unknown)(operand) : declared
    return typeof text === 'string' && text.trim() !== '' ? text : undefined
  } catch {
    return undefined
  }
}

/** The complete message of a violated rule: the application's words, or the name of the value and what is wrong. */
export function ruleMessage(
  messages: RuleMessages,
  code: string,
  { path, text }: { readonly path: string; readonly text: string },
): string {
  return messages[code as MessageRule] ?? `${path} ${text}`
}
