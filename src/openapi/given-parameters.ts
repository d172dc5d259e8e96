/**
 * Query parameters of routes that read their query themselves, only for the document. The maker of the route declares
 * them.
 */
import type { ParameterObject } from 'openapi3-ts/oas31'
import type { JsonSchema } from '../fields/kinds/kind.js'
import { createMemberMetadata, type Class } from '../metadata/class-metadata.js'

export interface GivenParameter {
  readonly name: string
  readonly description: string
  readonly schema: JsonSchema
  /** Several values, separated by commas. */
  readonly isList?: boolean
}

const notes = createMemberMetadata<readonly GivenParameter[]>('given-parameters')

export function noteParameters(
  owner: Class,
  member: string,
  parameters: readonly GivenParameter[],
): void {
  notes.write(owner, member, parameters)
}

/** An empty list for routes without such parameters. */
export function givenParameters(owner: Class, member: string): ParameterObject[] {
  const given = notes.read(owner, member) ?? []
  return given.map(({ name, description, schema, isList }) => ({
    name,
    in: 'query',
    required: false,
    description,
    ...(isList === true ? { style: 'form' as const, explode: false } : {}),
    schema: isList === true ? { type: 'array', items: { ...schema } } : { ...schema },
  }))
}
