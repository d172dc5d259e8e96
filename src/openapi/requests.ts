/**
 * The requests of a route in the document. Its parameters come from its pattern, its query class, `@Doc`, and
 * `declareRequest` for routes that read their query themselves. Its body has media types, which the server also enforces,
 * and a schema from the body's class or from a sample.
 */
import type { ParameterObject } from 'openapi3-ts/oas31'
import type { HeaderObject } from 'openapi3-ts/oas31'
import type { MediaTypeObject } from 'openapi3-ts/oas31'
import type { RequestBodyObject } from 'openapi3-ts/oas31'
import type { SchemaObject } from 'openapi3-ts/oas31'
import type { JsonSchema } from '../fields/kinds/kind.js'
import type { Class } from '../metadata/class.js'
import { createMemberMetadata } from '../metadata/class-metadata.js'
import { hasUnknownKind } from '../fields/compile-text.js'
import type { ShapeField } from '../fields/shape.js'
import { keyType, type Pattern, restType } from '../routing/pattern.js'
import type { DocHeader, DocMetadata } from './doc.js'
import { fieldSchema, inText, inForm } from './field-schema.js'
import {
  mustBeSent,
  visibleFields,
  type SchemaComponents,
  classSchema,
  inputView,
} from './schemas.js'
import {
  otherMedia,
  uploadMedia,
  jsonMedia,
  textMedia,
  allMedia,
  bodyTypes,
  bodyTypeOf,
} from '../http/bodies/body-types.js'
import type { DocumentedRoute } from './documented-route.js'
import { isMap } from '../core/json.js'
import { type SchemaOrReference, inferSchema, toPlainJson } from './json-schema.js'
import type { VisibleMembers } from './visible-members.js'

export interface DeclaredParameter {
  readonly name: string
  readonly description: string
  readonly schema: JsonSchema
  /** Several values, separated by commas. */
  readonly isList?: boolean
}

/** An operator of a filter: `price.gte`. */
export interface DeclaredOperator {
  readonly name: string
  readonly description: string
  /** `value` has the schema of the filter, `list` is several of them, `text` is any text, `flag` is true or false. */
  readonly operand: 'value' | 'list' | 'text' | 'flag'
  /** Whether the operand is a value that the field can have. */
  readonly isEquality?: boolean | undefined
}

/** A field or an aggregate that is compared: `price` and its operators. */
export interface DeclaredFilter {
  readonly name: string
  /** The description of the parameter without an operator. Default: the operator is required. */
  readonly description?: string | undefined
  /** The schema of a value. */
  readonly schema: JsonSchema
  /** The schema of a value that the field can have. Default: `schema`. */
  readonly choiceSchema?: JsonSchema | undefined
  readonly operators: readonly DeclaredOperator[]
}

/**
 * How filters are documented: `exact` has one parameter for each operator, `compact` one for each field, with the names
 * of its operators in `x-filter`.
 */
export type FilterForm = 'exact' | 'compact'

/** The requests of a route that reads its query itself. */
export interface DeclaredRequest {
  /** Default: `@Doc`. */
  readonly description?: string | undefined
  readonly parameters: readonly DeclaredParameter[]
  /** Default: none. */
  readonly filters?: readonly DeclaredFilter[]
  /** The key of several fields at the end of the path. Default: the schema of the parameter's type. */
  readonly key?: DeclaredKey
}

/** A key of several fields, whose parts are between commas. */
export interface DeclaredKey {
  readonly description: string
  /** By the name of each field, in order. */
  readonly parts: Readonly<Record<string, JsonSchema>>
}

const declaredRequests =
  createMemberMetadata<(visible: VisibleMembers) => DeclaredRequest>('declared request')

/** @param describe called for each document */
export function declareRequest(
  owner: Class,
  member: string,
  describe: (visible: VisibleMembers) => DeclaredRequest,
): void {
  declaredRequests.write(owner, member, describe)
}

/** @returns undefined for routes that declare a class as their query, or no query */
export function readDeclaredRequest(
  owner: Class,
  member: string,
  visible: VisibleMembers,
): DeclaredRequest | undefined {
  return declaredRequests.read(owner, member)?.(visible)
}

export function declaredParameter({
  name,
  description,
  schema,
  isList = false,
}: DeclaredParameter): ParameterObject {
  return {
    name,
    in: 'query',
    required: false,
    description,
    ...(isList && { style: 'form', explode: true }),
    schema: isList ? { type: 'array', items: { ...schema } } : { ...schema },
  }
}

/** The parameters of a filter in the exact document: `price`, `price.gte` … */
export function exactFilter(filter: DeclaredFilter): ParameterObject[] {
  const { name, description, operators } = filter
  const schema = filter.choiceSchema ?? filter.schema
  const comparisons = operators.map((operator) => declaredParameter(comparison(filter, operator)))
  if (description === undefined) return comparisons
  return [declaredParameter({ name, description, schema }), ...comparisons]
}

/** The one parameter of a filter in the compact document. Its `x-filter` names the operators. */
export function compactFilter(filter: DeclaredFilter): ParameterObject[] {
  const [first, ...rest] = exactFilter(filter)
  if (first === undefined || rest.length === 0) return first === undefined ? [] : [first]
  const { name, operators } = filter
  const names = operators.map((operator) => operator.name)
  return [
    {
      ...first,
      description: `${String(first.description)} Operators: ${names.join(', ')}.`,
      'x-filter': { name, operators: names },
    },
  ]
}

function comparison(
  { name, schema, choiceSchema = schema }: DeclaredFilter,
  operator: DeclaredOperator,
): DeclaredParameter {
  const { description, operand, isEquality } = operator
  const isList = operand === 'list'
  return {
    name: `${name}.${operator.name}`,
    description,
    schema: operandSchemas[operand] ?? (isEquality === true ? choiceSchema : schema),
    ...(isList && { isList }),
  }
}

/** The schemas of operands that are not values of the field. */
const operandSchemas: Readonly<Partial<Record<DeclaredOperator['operand'], JsonSchema>>> = {
  text: { type: 'string' },
  flag: { type: 'string', enum: ['true', 'false'] },
}

/** @param names the parameters' names in the document's path, from left to right; the handler's may differ */
export function pathParameters(
  pattern: Pattern,
  names: readonly string[],
  key?: DeclaredKey,
): ParameterObject[] {
  const parameters = pattern.segments.filter((segment) => segment.kind === 'parameter')
  return parameters.map(({ type, name }, index) => ({
    name: names[index] ?? name,
    in: 'path',
    required: true,
    ...(type === restType ? { description: 'The rest of the path, slashes included.' } : {}),
    ...(type === keyType && key !== undefined ? keyParameter(key) : { schema: { ...type.schema } }),
  }))
}

/** A list in the style `simple` has commas between its values, each of which is percent-encoded. */
function keyParameter({ description, parts }: DeclaredKey): Omit<ParameterObject, 'name' | 'in'> {
  const prefixItems = Object.entries(parts).map(([title, schema]) => ({ title, ...schema }))
  const { length } = prefixItems
  const schema: SchemaObject = {
    type: 'array',
    prefixItems,
    minItems: length,
    maxItems: length,
  }
  return { description, style: 'simple', explode: false, schema }
}

/** One parameter for each field; lists are repeated keys, nested classes and JSON are written as JSON. */
export function queryParameters(
  type: Class,
  schemas: SchemaComponents,
  groups?: readonly string[],
): ParameterObject[] {
  const { visible } = schemas
  return visibleFields(type, { view: 'input', groups, visible }).map((field) =>
    queryParameter(field, schemas),
  )
}

function queryParameter(field: ShapeField, schemas: SchemaComponents): ParameterObject {
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

/** @returns an empty list if the route does not read a body */
export function bodyMedia(
  { route, classes }: Pick<DocumentedRoute, 'route' | 'classes'>,
  { example }: Pick<DocMetadata, 'example'>,
): readonly string[] {
  const names = route.argumentNames
  if (route.method === 'GET') return []
  if (takesUploads({ route, classes })) return [uploadMedia]
  // The exact bytes of a form with files are not stored.
  const keepsBytes = names.includes('rawBody')
  if (classes.body !== undefined) {
    const { list } = classes.body
    const fitting = bodyTypes.filter(
      ({ classes, read }) =>
        (list ? classes === 'fields and lists' : classes !== undefined) &&
        !(keepsBytes && read === undefined),
    )
    return fitting.map(({ media }) => media)
  }
  if (keepsBytes) return [otherMedia]
  // An example shows a body, but does not restrict its media type.
  const reads = names.includes('body') || names.includes('request') || example !== undefined
  return reads ? allMedia : []
}

/**
 * True if the body must be multipart, because no other body contains files. If the handler also takes an undeclared
 * body, files may be missing.
 */
function takesUploads({ route, classes }: Pick<DocumentedRoute, 'route' | 'classes'>): boolean {
  const names = route.argumentNames
  if (route.method === 'GET') return false
  return names.includes('files') && (classes.body !== undefined || !names.includes('body'))
}

/** @returns `undefined` if the route does not read a body */
export function requestBody(
  documented: DocumentedRoute,
  doc: DocMetadata,
  schemas: SchemaComponents,
): RequestBodyObject | undefined {
  const media = bodyMedia(documented, doc)
  if (media.length === 0) return undefined
  const required = documented.classes.body !== undefined || takesUploads(documented)
  const content = Object.fromEntries(
    media.map((one) => [one, mediaObject(one, documented, doc, schemas)]),
  )
  return { ...(required ? { required } : {}), content }
}

function mediaObject(
  media: string,
  documented: DocumentedRoute,
  doc: DocMetadata,
  schemas: SchemaComponents,
): MediaTypeObject {
  const { classes, route, unknownKeys } = documented
  const example = toPlainJson(doc.example)
  const sample: MediaTypeObject = example === undefined ? {} : { example }
  if (takesUploads(documented) || (media === uploadMedia && doc.files.size > 0)) {
    return { schema: uploadSchema(documented, doc, schemas), ...sample }
  }
  if (classes.body !== undefined) {
    const schema = schemas.of(classes.body, inputView(unknownKeys), route.options.groups)
    if (media === jsonMedia) return { schema, ...sample }
    // Forms have the same fields as text.
    return { schema: formSchema(classes.body.type, documented, schemas) ?? schema }
  }
  if (example !== undefined && media === (typeof example === 'string' ? textMedia : jsonMedia)) {
    return { schema: inferSchema(example), ...sample }
  }
  // Nothing is declared, so nothing is rejected: the handler gets the body as parsed.
  return { schema: { ...bodyTypeOf.get(media)?.schema } }
}

/** The schema of the body as a form; undefined if it is the same as for JSON. */
function formSchema(
  type: Class,
  { unknownKeys, route }: DocumentedRoute,
  schemas: SchemaComponents,
): SchemaOrReference | undefined {
  const view = inputView(unknownKeys)
  const { groups } = route.options
  const selection = { view, groups, visible: schemas.visible }
  return schemas.form(type, view, groups, () => {
    const refer = (nested: Class): SchemaOrReference =>
      schemas.of({ type: nested, list: false }, view, groups)
    const schema = classSchema(type, selection, refer)
    const form = toForm(schema, visibleFields(type, selection))
    const names = Object.keys(schema.properties ?? {})
    const isSame = names.every((name) => form.properties?.[name] === schema.properties?.[name])
    return isSame ? undefined : form
  })
}

function toForm(base: SchemaObject, fields: readonly ShapeField[]): SchemaObject {
  const properties = { ...base.properties }
  for (const field of fields) {
    const schema = properties[field.name]
    if (schema !== undefined) properties[field.name] = inForm(field, schema)
  }
  return { ...base, properties }
}

/** The fields of the body's class and the files; if no file is named, any part may be one. */
function uploadSchema(
  { classes }: DocumentedRoute,
  doc: DocMetadata,
  schemas: SchemaComponents,
): SchemaObject {
  const fields = formFields(classes.body?.type, doc.example, schemas)
  const files: [string, SchemaOrReference][] = [...doc.files].map(([name, description]) => [
    name,
    { ...file, ...(description === undefined ? {} : { description }) },
  ])
  const properties = { ...fields.properties, ...Object.fromEntries(files) }
  return {
    ...fields,
    type: 'object',
    properties,
    // A file may have any name; the handler uses the names that it expects.
    ...(files.length === 0 || classes.body !== undefined ? { additionalProperties: file } : {}),
  }
}

const file: SchemaObject = { type: 'string', format: 'binary' }

function formFields(
  type: Class | undefined,
  example: unknown,
  schemas: SchemaComponents,
): SchemaObject {
  if (type !== undefined) {
    const selection = { view: 'looseInput', visible: schemas.visible } as const
    const schema = classSchema(type, selection, (nested) =>
      schemas.of({ type: nested, list: false }, 'input'),
    )
    return toForm(schema, visibleFields(type, selection))
  }
  const sample = toPlainJson(example)
  return isMap(sample) ? inferSchema(sample) : {}
}
