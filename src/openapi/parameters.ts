/**
 * The path, query and header parameters of a route, from its pattern, its query class, `@Doc`, and `declareParameters`
 * for routes that read their query themselves.
 */
import type { ParameterObject, HeaderObject } from 'openapi3-ts/oas31'
import type { JsonSchema } from '../fields/kinds/kind.js'
import { createMemberMetadata, type Class } from '../metadata/class-metadata.js'
import { hasUnknownKind } from '../fields/compile-text.js'
import type { ShapeField } from '../fields/shape.js'
import { type Pattern, restType } from '../routing/pattern.js'
import type { DocHeader } from './doc.js'
import { fieldSchema, inText } from './field-schema.js'
import { mustBeSent, visibleFields, type Schemas } from './schemas.js'

export interface DeclaredParameter {
  readonly name: string
  readonly description: string
  readonly schema: JsonSchema
  /** Several values, separated by commas. */
  readonly isList?: boolean
}

const declaredParameters = createMemberMetadata<readonly DeclaredParameter[]>('declared-parameters')

export function declareParameters(
  owner: Class,
  member: string,
  parameters: readonly DeclaredParameter[],
): void {
  declaredParameters.write(owner, member, parameters)
}

/** Returns an empty list for routes without declared parameters. */
export function readDeclaredParameters(owner: Class, member: string): ParameterObject[] {
  const declared = declaredParameters.read(owner, member) ?? []
  return declared.map(({ name, description, schema, isList }) => ({
    name,
    in: 'query',
    required: false,
    description,
    ...(isList === true ? { style: 'form' as const, explode: false } : {}),
    schema: isList === true ? { type: 'array', items: { ...schema } } : { ...schema },
  }))
}

/** @param names the parameters' names in the document's path, from left to right; the handler's may differ */
export function pathParameters(pattern: Pattern, names: readonly string[]): ParameterObject[] {
  const parameters = pattern.segments.filter((segment) => segment.kind === 'parameter')
  return parameters.map(({ type, name }, index) => ({
    name: names[index] ?? name,
    in: 'path',
    required: true,
    ...(type === restType ? { description: 'The rest of the path, slashes included.' } : {}),
    schema: { ...type.schema },
  }))
}

/** One parameter for each field; lists are repeated keys, nested classes and JSON are written as JSON. */
export function queryParameters(
  type: Class,
  schemas: Schemas,
  groups?: readonly string[],
): ParameterObject[] {
  return visibleFields(type, 'input', groups).map((field) => queryParameter(field, schemas))
}

function queryParameter(field: ShapeField, schemas: Schemas): ParameterObject {
  const isJson = (field.nested !== undefined || field.kind === 'json') && !hasUnknownKind(field)
  // Text cannot be null; JSON in it can.
  const nullable = isJson && field.nullable
  const { description, ...schema } = fieldSchema({ ...field, nullable }, (nested) =>
    schemas.of({ type: nested, list: false }, 'input'),
  )
  return {
    name: field.name,
    in: 'query',
    required: mustBeSent(field),
    ...(description === undefined ? {} : { description }),
    ...(isJson
      ? { content: { 'application/json': { schema } } }
      : { schema: inText(field, schema) }),
  }
}

export function headerParameters(headers: ReadonlyMap<string, DocHeader>): ParameterObject[] {
  return [...headers].map(([name, header]) => ({
    name,
    in: 'header',
    required: header.required === true,
    ...describedHeader(header),
  }))
}

/** Describes a header of a request or a response, without its name. Its value is any text. */
export function describedHeader({ description, example }: DocHeader): HeaderObject {
  return {
    ...(description === undefined ? {} : { description }),
    schema: { type: 'string', ...(example === undefined ? {} : { examples: [example] }) },
  }
}
