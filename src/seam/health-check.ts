/** `@HealthCheck`: a method of a provider that `/health/ready` calls. */
import { createMetadata } from './custom-metadata.js'

/**
 * Marks a method of a provider as a check of `/health/ready`. It takes no arguments, and fails by throwing, by returning
 * `false`, or by taking too long.
 *
 * ```ts
 * class Redis {
 *   @HealthCheck('redis') async ping() { await this.client.ping() }
 * }
 * ```
 *
 * @param name as the response of `/health/ready` shows it
 */
export const HealthCheck = createMetadata<[name: string]>('HealthCheck')
