/**
 * Reads class-transformer's decorators: `@Type(() => Item)` determines the class of a nested value. The other decorators have
 * no effect and are reported. Nothing is imported: all decorators write to the storage of one file of the package, which is
 * loaded if the application uses it.
 */
import { createRequire } from 'node:module'
import type { Problems } from '../errors/problems.js'
import { lineage, type Class } from '../metadata/class.js'
import { derivedFrom } from './field.js'
import type { KindName } from './kinds/table.js'

interface TypeMetadata {
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

interface DecoratorMetadata {
  readonly options?: TransformerOptions
}

type MetadataByMember<Metadata> = ReadonlyMap<Class, ReadonlyMap<string | undefined, Metadata>>

/** The storage of class-transformer 0.5; its maps are private there. */
interface TransformerStorage {
  readonly _typeMetadatas?: MetadataByMember<TypeMetadata>
  readonly _transformMetadatas?: MetadataByMember<unknown>
  readonly _exposeMetadatas?: MetadataByMember<DecoratorMetadata>
  readonly _excludeMetadatas?: MetadataByMember<DecoratorMetadata>
}

const storageFile = /[\\/]class-transformer[\\/]cjs[\\/]storage\.js$/

/** @returns the thunk of `@Type` on the property; `undefined` if there is none */
export function transformedType(type: Class, member: string): (() => Class) | undefined {
  const metadata = findMetadata(storage()?._typeMetadatas, type, member)
  return metadata?.typeFunction && (metadata.typeFunction as () => Class)
}

/** The properties of a field that decide whether its class-transformer decorators are supported. */
interface TransformedField {
  readonly name: string
  readonly kind: KindName
  readonly nested: unknown
}

/**
 * Finds the decorators of class-transformer that Filigree does not apply.
 *
 * @param fields of the class
 * @param problems receives a problem with the code `TRANSFORMER_DECORATOR` for each of them
 */
export function findTransformerProblems(
  type: Class,
  fields: readonly TransformedField[],
  problems: Problems,
): void {
  const store = storage()
  if (store === undefined) return
  const byName = new Map(fields.map((field) => [field.name, field]))
  for (const [decorator, metadataByMember, findFix] of decoratorsOf(store)) {
    for (const member of membersOf(metadataByMember, type, byName)) {
      const metadata = findMetadata(metadataByMember, type, member)
      const remedy =
        metadata && findFix(metadata, member === undefined ? undefined : byName.get(member))
      if (remedy === undefined) continue
      const position = member === undefined ? 'the class' : 'the property'
      problems.add({
        code: 'TRANSFORMER_DECORATOR',
        message: `${[type.name, member].filter(Boolean).join('.')}: ${decorator} of class-transformer at ${position} has no effect.`,
        remedy,
      })
    }
  }
}

/** @returns what to write instead; `undefined` if the decorator is applied or would change nothing */
type FixFinder<Metadata> = (
  metadata: Metadata,
  field: TransformedField | undefined,
) => string | undefined

function decoratorsOf(
  storage: TransformerStorage,
): readonly [string, MetadataByMember<object> | undefined, FixFinder<object>][] {
  return [
    ['@Exclude()', storage._excludeMetadatas, excludeFix],
    ['@Expose()', storage._exposeMetadatas, exposeFix],
    ['@Transform()', storage._transformMetadatas as MetadataByMember<object>, transformFix],
    ['@Type()', storage._typeMetadatas, typeFix],
  ]
}

function excludeFix({ options = {} }: DecoratorMetadata): string {
  if (options.toClassOnly === true && options.toPlainOnly !== true)
    return "Clients may not send the property: write readOnly, as in @Field('string', { readOnly: true })."
  if (options.toPlainOnly === true && options.toClassOnly !== true)
    return "Declare a response class without the property: returns: omit(User, 'password')."
  return "Write hidden, as in @Field('string', { hidden: true }), or leave the property out of the class."
}

function exposeFix(
  { options = {} }: DecoratorMetadata,
  field: TransformedField | undefined,
): string | undefined {
  if (options.name !== undefined) return 'Give the property the name that clients use.'
  if (Object.values(options).some((value) => value !== undefined && value !== false))
    return 'Create a class for each response with pick or omit, or write @Secured on the field.'
  // Declared fields are sent anyway.
  return field === undefined ? "Declare what is sent by @Field, as in @Field('string')." : undefined
}

function transformFix(): string {
  return 'Write rules that change a text (trim, collapse, lowercase, uppercase, normalize), default for an absent value, or a kind that converts (datetime, decimal, integer). Convert anything else in the handler.'
}

function typeFix(
  { typeFunction, options }: TypeMetadata,
  field: TransformedField | undefined,
): string | undefined {
  if (options?.discriminator !== undefined)
    return "Declare @Field('json') and choose the class in the handler by checkOf(Class)."
  if (field === undefined) return "Declare the property by @Field, as in @Field('string')."
  if (field.nested !== undefined) return undefined
  const named = typeFunction === undefined ? undefined : tryCall(typeFunction)
  if (named === Date) return "Write @Field('datetime') and type the property string."
  const kinds = convertingKinds.get(named)
  if (kinds === undefined) return 'Add @ValidateNested(), or write @Field(() => Line).'
  return kinds.includes(field.kind)
    ? undefined
    : "Write the kind of the value, as in @Field('integer')."
}

/** Kinds that convert the texts of a query themselves, by the type that `@Type` names. */
const convertingKinds: ReadonlyMap<unknown, readonly KindName[]> = new Map<
  unknown,
  readonly KindName[]
>([
  [Number, ['id', 'integer', 'numeric']],
  [Boolean, ['boolean']],
  [String, ['string', 'text', 'enum', 'date', 'time', 'datetime', 'uuid', 'decimal', 'bigint']],
])

/** The thunk may name a class of a file that is still being loaded. */
function tryCall(thunk: () => unknown): unknown {
  try {
    return thunk()
  } catch {
    return undefined
  }
}

function findMetadata<Metadata>(
  metadataByMember: MetadataByMember<Metadata> | undefined,
  type: Class,
  member: string | undefined,
): Metadata | undefined {
  for (const owner of lineage(type).reverse()) {
    const metadata = metadataByMember?.get(owner)?.get(member)
    if (metadata !== undefined) return metadata
    const source = derivedFrom.readOwn(owner)
    const copied = source && findMetadata(metadataByMember, source, member)
    if (copied !== undefined) return copied
  }
  return undefined
}

/** The members with such metadata. Of the source of `pick`, `omit` or `partial`, only the members that the class has. */
function membersOf(
  metadataByMember: MetadataByMember<unknown> | undefined,
  type: Class,
  fields: ReadonlyMap<string, unknown>,
): ReadonlySet<string | undefined> {
  const members = new Set<string | undefined>()
  for (const owner of lineage(type)) {
    for (const member of metadataByMember?.get(owner)?.keys() ?? []) members.add(member)
    const source = derivedFrom.readOwn(owner)
    if (source === undefined) continue
    for (const member of membersOf(metadataByMember, source, fields))
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
