/**
 * The request body of a route: its media types, which the server also enforces, and its schema from the body's class or
 * from a sample.
 */
import type { MediaTypeObject, RequestBodyObject, SchemaObject } from 'openapi3-ts/oas31'
import {
  otherMedia,
  uploadMedia,
  jsonMedia,
  textMedia,
  anyMedia,
  bodyTypes,
  bodyTypeOf,
} from '../http/bodies/body-types.js'
import type { DocMetadata } from './doc.js'
import type { DocumentedRoute } from './documented-route.js'
import { isMap } from '../core/json.js'
import type { ShapeField } from '../fields/shape.js'
import type { Class } from '../metadata/class-metadata.js'
import { inForm } from './field-schema.js'
import { type Schema, inferSchema, toPlainJson } from './json-schema.js'
import { classSchema, inputView, visibleFields, type Schemas } from './schemas.js'

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
      ({ takes, read }) =>
        (list ? takes === 'fields and lists' : takes !== undefined) &&
        !(keepsBytes && read === undefined),
    )
    return fitting.map(({ media }) => media)
  }
  if (keepsBytes) return [otherMedia]
  // An example shows a body, but does not restrict its media type.
  const reads = names.includes('body') || names.includes('request') || example !== undefined
  return reads ? anyMedia : []
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
  schemas: Schemas,
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
  schemas: Schemas,
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
  schemas: Schemas,
): Schema | undefined {
  const view = inputView(unknownKeys)
  const { groups } = route.options
  return schemas.form(type, view, groups, () => {
    const refer = (nested: Class): Schema => schemas.of({ type: nested, list: false }, view, groups)
    const schema = classSchema(type, view, refer, groups)
    const form = toForm(schema, visibleFields(type, view, groups))
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
  schemas: Schemas,
): SchemaObject {
  const fields = formFields(classes.body?.type, doc.example, schemas)
  const files: [string, Schema][] = [...doc.files].map(([name, description]) => [
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

function formFields(type: Class | undefined, example: unknown, schemas: Schemas): SchemaObject {
  if (type !== undefined) {
    const schema = classSchema(type, 'looseInput', (nested) =>
      schemas.of({ type: nested, list: false }, 'input'),
    )
    return toForm(schema, visibleFields(type, 'looseInput'))
  }
  const sample = toPlainJson(example)
  return isMap(sample) ? inferSchema(sample) : {}
}
