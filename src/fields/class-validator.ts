/**
 * Reads the rules that class-validator's decorators have stored. Nothing is imported: the package puts its storage on
 * `globalThis` (its src/metadata/MetadataStorage.ts), so any copy of the package works, and applications without it pay
 * nothing.
 */
import type { Class } from '../metadata/class-metadata.js'

/** The metadata of one class-validator decorator: the members that are used. */
export interface ValidatorMetadata {
  readonly type: string
  readonly name?: string
  readonly target: unknown
  readonly propertyName: string
  readonly constraintCls?: unknown
  readonly constraints?: readonly unknown[]
  readonly message?: string | ((args: ValidatorArguments) => string)
  readonly each?: boolean
  readonly validateIf?: (object: unknown, value: unknown) => boolean
}

/** The arguments that a constraint is called with. */
export interface ValidatorArguments {
  readonly targetName: string | undefined
  readonly property: string
  readonly object: unknown
  readonly value: unknown
  readonly constraints: readonly unknown[] | undefined
}

/** The object that checks a rule, created by class-validator or by its container. */
export interface ValidatorConstraint {
  readonly name?: string
  readonly async?: boolean
  readonly instance: {
    validate(value: unknown, args: ValidatorArguments): unknown
    defaultMessage?: (args: ValidatorArguments) => string
  }
}

interface ValidatorStorage {
  getTargetValidationMetadatas(
    target: Class,
    schema: string,
    always: boolean,
    strictGroups: boolean,
    groups?: readonly string[],
  ): ValidatorMetadata[]
  getTargetValidatorConstraints(target: unknown): ValidatorConstraint[]
  addValidationMetadata(metadata: ValidatorMetadata): void
}

/** One class-validator rule of a property, e.g. `{ name: 'min', args: [0], each: false }`. */
export interface Constraint {
  /** The constraint's name, or `nestedValidation`, `conditionalValidation`, `isOptional`, `isDefined`, `whitelistValidation`. */
  readonly name: string
  readonly args: readonly unknown[]
  readonly each: boolean
  readonly metadata: ValidatorMetadata
}

/**
 * Reads the rules of a class by property, including inherited ones, in class-validator's order.
 *
 * @param groups only rules of these groups. Default: all rules, as `validate()` does
 */
export function readConstraints(
  owner: Class,
  groups?: readonly string[],
): ReadonlyMap<string, readonly Constraint[]> {
  const byProperty = new Map<string, Constraint[]>()
  for (const metadata of storage()?.getTargetValidationMetadatas(owner, '', false, false, groups) ??
    []) {
    const list = byProperty.get(metadata.propertyName) ?? []
    list.push({
      name: metadata.name ?? constraintsOf(metadata)[0]?.name ?? metadata.type,
      args: metadata.constraints ?? [],
      each: metadata.each === true,
      metadata,
    })
    byProperty.set(metadata.propertyName, list)
  }
  return byProperty
}

/** The objects that check a rule: one for rules about a value, none for conditions and nesting. */
export function constraintsOf(metadata: ValidatorMetadata): readonly ValidatorConstraint[] {
  return storage()?.getTargetValidatorConstraints(metadata.constraintCls) ?? []
}

/** Copies a rule to another class. Only the target of the metadata changes. */
export function addConstraint(owner: Class, metadata: ValidatorMetadata): void {
  const copy = Object.create(Object.getPrototypeOf(metadata) as object) as ValidatorMetadata
  storage()?.addValidationMetadata(Object.assign(copy, metadata, { target: owner }))
}

/** A condition for `@ValidateIf`: values that were not sent are not checked. `partial` adds it to every property. */
export function isSent(_object: unknown, value: unknown): boolean {
  return value !== undefined
}

function storage(): ValidatorStorage | undefined {
  return (globalThis as { classValidatorMetadataStorage?: ValidatorStorage })
    .classValidatorMetadataStorage
}
