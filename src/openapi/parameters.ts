/** The path, query and header parameters of a route, from its pattern, its query class and `@Doc`. */
import type { HeaderObject, ParameterObject } from 'openapi3-ts/oas31'
import { hasUnknownKind } from '../fields/compile-text.js'
import type { ShapeField } from '../fields/shape.js'
import type { Class } from '../metadata/class-metadata.js'
import type { Pattern } from '../routing/pattern.js'
import { restType } from '../routing/path-types.js'
import type { DocHeader } from './doc.js'
import { fieldSchema, inText } from './field-schema.js'
import { mustBeSent, visibleFields, type Schemas } from './schemas.js'

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
  return [...headers].map(([name, said]) => ({
    name,
    in: 'header',
    required: said.required === true,
    ...describedHeader(said),
  }))
}

/** A header of a request or an answer, without its name; its value is any text. */
export function describedHeader({ description, example }: DocHeader): HeaderObject {
  return {
    ...(description === undefined ? {} : { description }),
    schema: { type: 'string', ...(example === undefined ? {} : { examples: [example] }) },
  }
}
