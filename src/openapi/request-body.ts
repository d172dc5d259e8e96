/** The request body of a route: from its class, otherwise from its sample, and the files it accepts. */
import type {
  ContentObject,
  MediaTypeObject,
  RequestBodyObject,
  SchemaObject,
} from 'openapi3-ts/oas31'
import type { ShapeField } from '../fields/shape.js'
import type { Class } from '../metadata/note.js'
import type { DocNote } from './doc.js'
import type { DocumentedRoute } from './documented-route.js'
import { inText } from './field-schema.js'
import type { Schema } from './merge-schemas.js'
import { inferSchema } from './infer-schema.js'
import { toPlainJson } from './plain-json.js'
import { classSchema, inputView, visibleFields, type Schemas } from './schemas.js'

/** @returns `undefined` if the route reads no body */
export function requestBody(
  documented: DocumentedRoute,
  note: DocNote,
  schemas: Schemas,
): RequestBodyObject | undefined {
  const { route, classes } = documented
  if (route.method === 'GET') return undefined
  const example = toPlainJson(note.example)
  const sample: MediaTypeObject = example === undefined ? {} : { example }
  if (takesFiles(documented, note)) {
    const schema = uploadSchema(documented, note, schemas)
    return { required: true, content: { 'multipart/form-data': { schema, ...sample } } }
  }
  if (classes.body !== undefined) {
    const { groups } = documented.route.options
    const schema = schemas.of(classes.body, inputView(documented.unknownKeys), groups)
    const content: ContentObject = { 'application/json': { schema, ...sample } }
    // Forms have the same fields as text; a form cannot be a list.
    if (!classes.body.list) {
      const form = formSchema(classes.body.type, documented, schemas) ?? schema
      content['application/x-www-form-urlencoded'] = { schema: form }
      content['multipart/form-data'] = { schema: form }
    }
    return { required: true, content }
  }
  if (example !== undefined) {
    const media = typeof example === 'string' ? 'text/plain' : 'application/json'
    return { content: { [media]: { schema: inferSchema(example), ...sample } } }
  }
  return route.argumentNames.includes('body') ? anyBody : undefined
}

/** The body as a form, where that is written in another way than JSON. */
function formSchema(
  type: Class,
  { unknownKeys, route }: DocumentedRoute,
  schemas: Schemas,
): SchemaObject | undefined {
  const view = inputView(unknownKeys)
  const { groups } = route.options
  const fields = visibleFields(type, view, groups)
  if (!fields.some(({ kind, nested }) => kind === 'boolean' && nested === undefined))
    return undefined
  const whole = classSchema(
    type,
    view,
    (nested) => schemas.of({ type: nested, list: false }, view, groups),
    groups,
  )
  return inForm(whole, fields)
}

function inForm(whole: SchemaObject, fields: readonly ShapeField[]): SchemaObject {
  const properties = { ...whole.properties }
  for (const field of fields) {
    const schema = properties[field.name]
    if (schema !== undefined) properties[field.name] = inText(field, schema)
  }
  return { ...whole, properties }
}

/** Nothing is declared and nothing refused: the handler gets the body as parsed. */
const anyBody: RequestBodyObject = {
  content: {
    'application/json': { schema: {} },
    'application/x-www-form-urlencoded': { schema: { type: 'object' } },
    'text/plain': { schema: { type: 'string' } },
  },
}

export function takesFiles({ route }: DocumentedRoute, note: DocNote): boolean {
  return route.method !== 'GET' && (note.files.size > 0 || route.argumentNames.includes('files'))
}

/** The fields of the body's class and the files; if no file is named, any part may be one. */
function uploadSchema({ classes }: DocumentedRoute, note: DocNote, schemas: Schemas): SchemaObject {
  const fields = fieldsBeside(classes.body?.type, note.example, schemas)
  const files: [string, Schema][] = [...note.files].map(([name, description]) => [
    name,
    { ...file, ...(description === undefined ? {} : { description }) },
  ])
  const properties = { ...fields.properties, ...Object.fromEntries(files) }
  return {
    ...fields,
    type: 'object',
    properties,
    // A file may have any name; the handler takes those that it knows.
    ...(files.length === 0 || classes.body !== undefined ? { additionalProperties: file } : {}),
  }
}

const file: SchemaObject = { type: 'string', format: 'binary' }

function fieldsBeside(type: Class | undefined, example: unknown, schemas: Schemas): SchemaObject {
  if (type !== undefined) {
    const whole = classSchema(type, 'looseInput', (nested) =>
      schemas.of({ type: nested, list: false }, 'input'),
    )
    return inForm(whole, visibleFields(type, 'looseInput'))
  }
  const sample = toPlainJson(example)
  return typeof sample === 'object' && sample !== null && !Array.isArray(sample)
    ? inferSchema(sample)
    : {}
}
