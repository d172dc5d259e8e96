/** An application that meets the list of docs/production.md. */
import { Module } from '../../../src/index.js'
import { accessLog } from '../../../src/modules/access-log/access-log.js'
import { health } from '../../../src/modules/health/health.js'
import { metrics } from '../../../src/modules/metrics/metrics.js'
import { securityHeaders } from '../../../src/modules/security-headers/security-headers.js'
import { throttle } from '../../../src/modules/throttle/throttle.js'

@Module({
  imports: [
    accessLog(),
    health(),
    metrics({ secured: 'operator' }),
    securityHeaders(),
    throttle({ limit: '100/m', store: 'database' }),
  ],
})
export class AppModule {}

export const options = {
  trustProxy: 1,
  auth: { keys: false as const },
  docs: { secured: true },
}
