ALTER TABLE `{prefix}periodic_task` DROP COLUMN `status`, ADD `status` varchar(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin GENERATED ALWAYS AS (case when `enabled` = 0 then 'paused' when `idle` is not null and `idle` <> 'running' then `idle` else 'active' end) STORED;--> statement-breakpoint
CREATE INDEX `{prefix}job_state` ON `{prefix}job` (`state`);--> statement-breakpoint
CREATE INDEX `{prefix}job_task` ON `{prefix}job` (`task`);--> statement-breakpoint
CREATE INDEX `{prefix}job_group` ON `{prefix}job` (`group_`);--> statement-breakpoint
CREATE INDEX `{prefix}job_submitter` ON `{prefix}job` (`submitter`);--> statement-breakpoint
CREATE INDEX `{prefix}periodic_task_status` ON `{prefix}periodic_task` (`status`);--> statement-breakpoint
CREATE INDEX `{prefix}periodic_task_task` ON `{prefix}periodic_task` (`task`);--> statement-breakpoint
CREATE INDEX `{prefix}periodic_task_group` ON `{prefix}periodic_task` (`group_`);--> statement-breakpoint
CREATE INDEX `{prefix}periodic_task_submitter` ON `{prefix}periodic_task` (`submitter`);