/**
 * class-validator as a source of fields. Nothing is imported: an application that uses it has put its storage on
 * `globalThis` (src/metadata/MetadataStorage.ts there), whichever copy of the package it uses; one that does not pays nothing.
 */
import type { Class } from '../metadata/class-metadata.js'

/** The metadata of one class-validator decorator; only the members that are read here. */
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

/** The object behind a rule, made by class-validator or by the container given to it. */
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
  /** Its constraint name; `nestedValidation`, `conditionalValidation`, `isOptional`, `isDefined` and `whitelistValidation` too. */
  readonly name: string
  readonly args: readonly unknown[]
  readonly each: boolean
  readonly metadata: ValidatorMetadata
}

/**
 * The rules of a class by property, in class-validator's order, inherited ones as it inherits them.
 *
 * @param groups only rules of these groups; without it every rule, as `validate()` does
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

/** The constraint objects behind a rule: one for every rule that checks a value, none for conditions and nesting. */
export function constraintsOf(metadata: ValidatorMetadata): readonly ValidatorConstraint[] {
  return storage()?.getTargetValidatorConstraints(metadata.constraintCls) ?? []
}

/** Gives a class a rule that another class has; `note` is kept whole except for its target. */
export function addConstraint(owner: Class, metadata: ValidatorMetadata): void {
  const copy = Object.create(Object.getPrototypeOf(metadata) as object) as ValidatorMetadata
  storage()?.addValidationMetadata(Object.assign(copy, metadata, { target: owner }))
}

/** A condition as `@ValidateIf` takes it: what was not sent is not checked. `partial` gives it to every property. */
export function isSent(_object: unknown, value: unknown): boolean {
  return value !== undefined
}

function storage(): ValidatorStorage | undefined {
  return (globalThis as { classValidatorMetadataStorage?: ValidatorStorage })
    .classValidatorMetadataStorage
}
