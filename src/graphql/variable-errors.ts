/** The errors of variables, with the validation errors by path that REST has too. Source: decisions, GraphQL. */
import type { GraphQLError, GraphQLInputType, GraphQLSchema, VariableDefinitionNode } from 'graphql'
import { clip } from '../core/text.js'
import type { FieldError } from '../errors/field-error.js'
import { graphqlCodes, withoutSuggestion } from './errors.js'
import { graphqlLibrary } from './library.js'
import type { VariableValues } from './variables.js'

const noNames: ReadonlySet<string> = new Set()

/** An operation's variables as a client sent them. */
export interface SentVariables {
  readonly schema: GraphQLSchema
  readonly definitions: readonly VariableDefinitionNode[]
  readonly input: VariableValues
  /** Names that no error may suggest. */
  readonly securedNames?: ReadonlySet<string> | undefined
}

/**
 * Adds the code, and the path of each invalid value, to the errors of `getVariableValues` of graphql-js. Errors with a
 * path were thrown by a field and stay as they are.
 *
 * ```json
 * { "code": "BAD_VARIABLES",
 *   "errors": [{ "path": "input.price", "code": "type", "message": "Float cannot represent non numeric value: \"x\"" }] }
 * ```
 *
 * @param sent undefined: only the code
 */
export function describeVariableErrors(
  errors: readonly GraphQLError[],
  sent?: SentVariables,
): GraphQLError[] {
  const { GraphQLError } = graphqlLibrary()
  const { securedNames = noNames } = sent ?? {}
  const fieldErrors = sent === undefined ? [] : findInvalidValues(sent, errors.length)
  return errors.map((error, index) => {
    const { message, nodes, path } = error
    if (path !== undefined) return error
    const fieldError = fieldErrors[index]
    // The error about the limit is the last one, and is about no value.
    const isAboutValue = fieldError !== undefined && nodes !== undefined
    return new GraphQLError(withoutSuggestion(message, securedNames), {
      nodes,
      extensions: {
        code: graphqlCodes.variables,
        ...(isAboutValue && { errors: [fieldError] }),
      },
    })
  })
}

/** Thrown to stop `coerceInputValue`. */
const enough = new Error('Enough errors.')

/** The first invalid values, in the order of the errors of graphql-js. */
function findInvalidValues(
  { schema, definitions, input, securedNames = noNames }: SentVariables,
  limit: number,
): readonly FieldError[] {
  const { coerceInputValue, isNonNullType, typeFromAST } = graphqlLibrary()
  const found: FieldError[] = []
  const add = (fieldError: FieldError): void => {
    found.push(fieldError)
    if (found.length === limit) throw enough
  }
  try {
    for (const { variable, type: typeNode, defaultValue } of definitions) {
      const name = variable.name.value
      const type = typeFromAST(schema, typeNode) as GraphQLInputType
      const isSent = Object.hasOwn(input, name)
      if (isNonNullType(type) && (isSent ? input[name] === null : defaultValue === undefined))
        add(required(name))
      else if (isSent)
        coerceInputValue(input[name], type, (path, value, { message }) => {
          add(toFieldError([name, ...path], value, withoutSuggestion(message, securedNames)))
        })
    }
  } catch (error) {
    if (error !== enough) throw error
  }
  return found
}

const unknownField = /^Field "(.*)" is not defined by type "\w+"\./s
const missingField = /^Field "(\w+)" of required type "[^"]+" was not provided\.$/

/** @param message of graphql-js, about an object if one of its fields is missing or unknown */
function toFieldError(
  path: readonly (string | number)[],
  value: unknown,
  message: string,
): FieldError {
  const unknownName = unknownField.exec(message)?.[1]
  if (unknownName !== undefined) {
    const at = toPath([...path, unknownName])
    return { path: at, code: 'unknown', message: `${at} is unknown` }
  }
  const missingName = missingField.exec(message)?.[1]
  if (missingName !== undefined) return required(toPath([...path, missingName]))
  if (value === null || value === undefined) return required(toPath(path))
  return { path: toPath(path), code: 'type', message: clip(message) }
}

function required(path: string): FieldError {
  return { path, code: 'required', message: `${path} is required` }
}

function toPath(path: readonly (string | number)[]): string {
  return clip(path.join('.'))
}
