/**
 * The rules by which documents are validated: graphql-js's, but that a variable of type Int may stand where an Integer is
 * taken, of which it is a part. Source: GraphQL specification, 5.8.5, All Variable Usages Are Allowed.
 */
import type { ASTVisitor, GraphQLError, ValidationContext, ValidationRule } from 'graphql'
import { graphqlLibrary } from './library.js'

let rules: readonly ValidationRule[] | undefined

export function validationRules(): readonly ValidationRule[] {
  const { specifiedRules, VariablesInAllowedPositionRule } = graphqlLibrary()
  rules ??= specifiedRules.map((rule) =>
    rule === VariablesInAllowedPositionRule ? allowIntegers : rule,
  )
  return rules
}

function allowIntegers(context: ValidationContext): ASTVisitor {
  const { VariablesInAllowedPositionRule } = graphqlLibrary()
  const report = (error: GraphQLError): void => {
    const types = /of type "(.+)" used in position expecting type "(.+)"/.exec(error.message)
    const [given = '', taken = ''] = types?.slice(1) ?? []
    if (!fits(given.replace(/\bInt\b/, 'Integer'), taken)) context.reportError(error)
  }
  return VariablesInAllowedPositionRule(
    Object.create(context, { reportError: { value: report } }) as ValidationContext,
  )
}

/** Whether values of one type are of the other: `[Int!]` of `[Int]`. */
function fits(given: string, taken: string): boolean {
  if (given === taken) return given !== ''
  if (given.endsWith('!')) return fits(given.slice(0, -1), taken.replace(/!$/, ''))
  if (taken.endsWith('!')) return false
  const areLists = given.startsWith('[') && taken.startsWith('[')
  return areLists && fits(given.slice(1, -1), taken.slice(1, -1))
}
