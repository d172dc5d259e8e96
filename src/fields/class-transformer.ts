/**
 * class-transformer as a source of classes: `@Type(() => Item)` names the class of a nested value. Its other decorators would
 * silently do nothing here, so they are configuration errors. Nothing is imported: an application that uses the package has
 * loaded it, and all of its decorators write to the storage of one file.
 */
import { createRequire } from 'node:module'
import type { Problem } from '../errors/declaration-error.js'
import { lineage, type Class } from '../metadata/class-metadata.js'
import { madeOf } from './field.js'
import type { KindName } from './kinds/table.js'

interface TypeNote {
  readonly typeFunction?: (options?: unknown) => unknown
  readonly options?: { readonly discriminator?: unknown }
}

/** Options of `@Exclude`, `@Expose` and `@Transform`. */
interface TransformerOptions {
  readonly name?: unknown
  readonly groups?: unknown
  readonly since?: unknown
  readonly until?: unknown
  readonly toClassOnly?: boolean
  readonly toPlainOnly?: boolean
}

interface DecoratorNote {
  readonly options?: TransformerOptions
}

type NotesByMember<Note> = ReadonlyMap<Class, ReadonlyMap<string | undefined, Note>>

/** The storage of class-transformer 0.5; its maps are private there. */
interface TransformerStorage {
  readonly _typeMetadatas?: NotesByMember<TypeNote>
  readonly _transformMetadatas?: NotesByMember<unknown>
  readonly _exposeMetadatas?: NotesByMember<DecoratorNote>
  readonly _excludeMetadatas?: NotesByMember<DecoratorNote>
}

const storageFile = /[\\/]class-transformer[\\/]cjs[\\/]storage\.js$/

/** @returns a thunk of the class that `@Type` names for the property; `undefined` where there is none */
export function transformedType(type: Class, member: string): (() => Class) | undefined {
  const note = find(storage()?._typeMetadatas, type, member)
  return note?.typeFunction && (note.typeFunction as () => Class)
}

/** What is known of a field when its decorators of class-transformer are judged. */
interface TransformedField {
  readonly name: string
  readonly kind: KindName
  readonly nested: unknown
}

/**
 * Finds the decorators of class-transformer that Filigree does not apply.
 *
 * @param fields of the class
 * @param problems gets one for each of them, code `TRANSFORMER_DECORATOR`
 */
export function findTransformerProblems(
  type: Class,
  fields: readonly TransformedField[],
  problems: Problem[],
): void {
  const known = storage()
  if (known === undefined) return
  const byName = new Map(fields.map((field) => [field.name, field]))
  for (const [decorator, notes, judge] of decoratorsOf(known)) {
    for (const member of membersOf(notes, type, byName)) {
      const note = find(notes, type, member)
      const remedy = note && judge(note, member === undefined ? undefined : byName.get(member))
      if (remedy === undefined) continue
      const place = member === undefined ? 'the class' : 'the property'
      problems.push({
        code: 'TRANSFORMER_DECORATOR',
        message: `${[type.name, member].filter(Boolean).join('.')}: ${decorator} of class-transformer at ${place} has no effect.`,
        remedy,
      })
    }
  }
}

/** @returns what to write instead; `undefined` where the decorator is applied, or changes nothing */
type Judge<Note> = (note: Note, field: TransformedField | undefined) => string | undefined

function decoratorsOf(
  storage: TransformerStorage,
): readonly [string, NotesByMember<object> | undefined, Judge<object>][] {
  return [
    ['@Exclude()', storage._excludeMetadatas, judgeExclude],
    ['@Expose()', storage._exposeMetadatas, judgeExpose],
    ['@Transform()', storage._transformMetadatas as NotesByMember<object>, judgeTransform],
    ['@Type()', storage._typeMetadatas, judgeType],
  ]
}

function judgeExclude({ options = {} }: DecoratorNote): string {
  if (options.toClassOnly === true && options.toPlainOnly !== true)
    return "Clients may not send the property: write readOnly, as in @Field('string', { readOnly: true })."
  if (options.toPlainOnly === true && options.toClassOnly !== true)
    return "Declare the answer by a class without the property: returns: omit(User, 'password')."
  return "Write hidden, as in @Field('string', { hidden: true }), or leave the property out of the class."
}

function judgeExpose(
  { options = {} }: DecoratorNote,
  field: TransformedField | undefined,
): string | undefined {
  if (options.name !== undefined) return 'Give the property the name that clients use.'
  if (Object.values(options).some((value) => value !== undefined && value !== false))
    return 'Make a class for each answer with pick or omit, or write @Secured on the field.'
  // Declared fields are sent anyway.
  return field === undefined ? "Declare what is sent by @Field, as in @Field('string')." : undefined
}

function judgeTransform(): string {
  return 'Write rules that change a text (trim, collapse, lowercase, uppercase), default for an absent value, or a kind that converts (datetime, decimal, integer). Convert anything else in the handler.'
}

function judgeType(
  { typeFunction, options }: TypeNote,
  field: TransformedField | undefined,
): string | undefined {
  if (options?.discriminator !== undefined)
    return "Declare @Field('json') and choose the class in the handler by checkOf(Class)."
  if (field === undefined) return "Declare the property by @Field, as in @Field('string')."
  if (field.nested !== undefined) return undefined
  const named = typeFunction === undefined ? undefined : calledSafely(typeFunction)
  if (named === Date) return "Write @Field('datetime') and type the property string."
  const kinds = convertingKinds.get(named)
  if (kinds === undefined) return 'Add @ValidateNested(), or write @Field(() => Line).'
  return kinds.includes(field.kind)
    ? undefined
    : "Write the kind of the value, as in @Field('integer')."
}

/** Texts of a query are converted to these kinds by the kind itself. */
const convertingKinds: ReadonlyMap<unknown, readonly KindName[]> = new Map<
  unknown,
  readonly KindName[]
>([
  [Number, ['id', 'integer', 'numeric']],
  [Boolean, ['boolean']],
  [String, ['string', 'text', 'enum', 'date', 'time', 'datetime', 'uuid', 'decimal', 'bigint']],
])

/** The thunk may name a class of a file that is still being loaded. */
function calledSafely(thunk: () => unknown): unknown {
  try {
    return thunk()
  } catch {
    return undefined
  }
}

function find<Note>(
  notes: NotesByMember<Note> | undefined,
  type: Class,
  member: string | undefined,
): Note | undefined {
  for (const owner of lineage(type).reverse()) {
    const note = notes?.get(owner)?.get(member)
    if (note !== undefined) return note
    const source = madeOf.readOwn(owner)
    const copied = source && find(notes, source, member)
    if (copied !== undefined) return copied
  }
  return undefined
}

/** The members that have a note: of a class that was made by `pick` and its like only those that it took. */
function membersOf(
  notes: NotesByMember<unknown> | undefined,
  type: Class,
  fields: ReadonlyMap<string, unknown>,
): ReadonlySet<string | undefined> {
  const members = new Set<string | undefined>()
  for (const owner of lineage(type)) {
    for (const member of notes?.get(owner)?.keys() ?? []) members.add(member)
    const source = madeOf.readOwn(owner)
    if (source === undefined) continue
    for (const member of membersOf(notes, source, fields))
      if (member !== undefined && fields.has(member)) members.add(member)
  }
  return members
}

function storage(): TransformerStorage | undefined {
  const { cache } = createRequire(import.meta.url)
  const name = Object.keys(cache).find((path) => storageFile.test(path))
  const loaded: unknown = name === undefined ? undefined : cache[name]?.exports
  return (loaded as { defaultMetadataStorage?: TransformerStorage } | undefined)
    ?.defaultMetadataStorage
}
